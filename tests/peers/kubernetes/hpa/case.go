// Runs a case: one autoscaler, one target, and the instant of each reconciliation.

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	defaults "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
)

// Case is one autoscaler over a period.
type Case struct {
	// Spec is what the user writes; Kubernetes' defaults are filled in here, as its API server does.
	Spec autoscalingv2.HorizontalPodAutoscalerSpec `json:"spec"`
	// Replicas is the initial number in the target's spec.
	Replicas int32 `json:"replicas"`
	// SeenBefore is the number of seconds between the first observation of the target by the
	// controller, without samples, and the first step. With 0, that is at the first step.
	SeenBefore int64 `json:"seenBefore"`
	// Holds repeats the recommendation of the controller just before each step, so that the previous recommendation
	// lasts until then. The repetition scales nothing.
	Holds bool `json:"holds"`
	// Behind lets the target's status follow its spec one step late.
	Behind bool `json:"behind"`
	// Unready is the number of the target's pods that are not ready.
	Unready int32  `json:"unready"`
	Steps   []Step `json:"steps"`
}

// Step is one reconciliation.
type Step struct {
	// Second counts from the start of the case.
	Second int64 `json:"second"`
	// Samples are the samples of the metrics, in thousandths; null without a sample.
	Samples []*int64 `json:"samples"`
	// Written is the number of replicas that another client has just set.
	Written *int32 `json:"written,omitempty"`
}

// live runs a case, and returns the replicas in the target's spec after each step.
func (c *controller) live(name string, one Case) ([]int32, error) {
	hpa := autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec:       one.Spec,
	}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: name,
	}
	defaults.SetDefaults_HorizontalPodAutoscaler(&hpa)
	if one.Holds && hpa.Spec.Behavior == nil {
		return nil, errors.New("holds takes a behavior: without one, another step keeps the history")
	}
	c.begin(&hpa, one.Replicas, one.Unready)
	defer c.end()

	if one.SeenBefore > 0 {
		if err := c.look(); err == nil {
			return nil, errors.New("no metric answered, and it was no error")
		}
		time.Sleep(time.Duration(one.SeenBefore) * time.Second)
	}
	beginning := time.Now()
	shown := one.Replicas
	var held *int32
	answers := make([]int32, 0, len(one.Steps))
	for number, step := range one.Steps {
		at := beginning.Add(time.Duration(step.Second) * time.Second)
		if one.Holds && held != nil {
			time.Sleep(time.Until(at) - time.Nanosecond)
			c.recommendAgain(*held)
		}
		time.Sleep(time.Until(at))
		if step.Written != nil {
			c.target.replicas = *step.Written
		}
		c.target.statusReplicas, shown = shown, c.target.replicas
		if !one.Behind {
			c.target.statusReplicas = c.target.replicas
		}
		c.target.samples = step.Samples
		if recommendation := c.recommendation(); recommendation != nil {
			held = recommendation
		}
		if err := c.look(); err != nil && !slices.Contains(step.Samples, nil) {
			return nil, fmt.Errorf("step %d: %w", number, err)
		}
		answers = append(answers, c.target.replicas)
	}
	return answers, nil
}

// look is one reconciliation. A metric without a sample is an error.
func (c *controller) look() error {
	_, err := reconcileKey(c.upstream, c.ctx, namespace+"/"+c.target.hpa.Name)
	return err
}

// recommendation is the recommendation of the metrics, before any limit; nil without samples.
func (c *controller) recommendation() *int32 {
	hpa := c.target.hpa.DeepCopy()
	replicas, _, _, _, err := computeReplicasForMetrics(
		c.upstream, c.ctx, hpa, c.target.scale(), hpa.Spec.Metrics)
	if err != nil && replicas == -1 {
		return nil
	}
	return &replicas
}

// recommendAgain only adds a recommendation to the controller's history.
func (c *controller) recommendAgain(recommendation int32) {
	hpa := c.target.hpa.DeepCopy()
	maybeInitScaleDownStabilizationWindow(c.upstream, hpa)
	stabilizeRecommendationWithBehaviors(c.upstream, podautoscaler.NormalizationArg{
		Key:               namespace + "/" + hpa.Name,
		ScaleUpBehavior:   hpa.Spec.Behavior.ScaleUp,
		ScaleDownBehavior: hpa.Spec.Behavior.ScaleDown,
		MinReplicas:       *hpa.Spec.MinReplicas,
		MaxReplicas:       hpa.Spec.MaxReplicas,
		CurrentReplicas:   c.target.replicas,
		DesiredReplicas:   recommendation,
	})
}
