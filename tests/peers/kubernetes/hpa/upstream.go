// The steps of the controller that upstream does not export. The signatures are those of the
// version that go.mod pins; update them for a version with other signatures.

package main

import (
	"context"
	"time"
	_ "unsafe" // for go:linkname

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
)

//go:linkname reconcileKey k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).reconcileKey
func reconcileKey(a *podautoscaler.HorizontalController, ctx context.Context, key string) (deleted bool, err error)

//go:linkname computeReplicasForMetrics k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).computeReplicasForMetrics
func computeReplicasForMetrics(a *podautoscaler.HorizontalController, ctx context.Context,
	hpa *autoscalingv2.HorizontalPodAutoscaler, scale *autoscalingv1.Scale,
	metricSpecs []autoscalingv2.MetricSpec,
) (replicas int32, metric string, statuses []autoscalingv2.MetricStatus, timestamp time.Time, err error)

//go:linkname maybeInitScaleDownStabilizationWindow k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).maybeInitScaleDownStabilizationWindow
func maybeInitScaleDownStabilizationWindow(a *podautoscaler.HorizontalController, hpa *autoscalingv2.HorizontalPodAutoscaler)

//go:linkname stabilizeRecommendationWithBehaviors k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).stabilizeRecommendationWithBehaviors
func stabilizeRecommendationWithBehaviors(a *podautoscaler.HorizontalController, args podautoscaler.NormalizationArg) (int32, string, string)
