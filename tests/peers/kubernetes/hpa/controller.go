// The controller as upstream builds it, with a target, metrics and pods in memory.

package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

const (
	namespace = "default"
	// The defaults of kube-controller-manager, without any of --horizontal-pod-autoscaler-*.
	syncPeriod           = 15 * time.Second
	downscaleWindow      = 5 * time.Minute
	cpuInitialization    = 5 * time.Minute
	initialReadinessWait = 30 * time.Second
	// Each case sets the tolerance in its own behavior.
	tolerance = 0
)

// controller is upstream's controller, and its single current target.
type controller struct {
	upstream *podautoscaler.HorizontalController
	ctx      context.Context
	cancel   context.CancelFunc
	target   *target
	hpas     cache.SharedIndexInformer
}

// target is the scaled object, its metrics, and its autoscaler.
type target struct {
	hpa            *autoscalingv2.HorizontalPodAutoscaler
	replicas       int32
	statusReplicas int32
	unready        int32
	samples        []*int64
}

func newController() *controller {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	c := &controller{ctx: ctx, cancel: cancel, target: &target{}}
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	c.hpas = cache.NewSharedIndexInformer(nil, &autoscalingv2.HorizontalPodAutoscaler{}, syncPeriod, byNamespace)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	c.upstream = podautoscaler.NewHorizontalController(
		ctx, events{}, scales{target: c.target}, statuses{target: c.target, hpas: c.hpas}, mapper,
		measured{target: c.target}, hpaInformer{filled{c.hpas}}, podInformer{target: c.target},
		syncPeriod, downscaleWindow, tolerance, cpuInitialization, initialReadinessWait,
	)
	return c
}

// stop ends the goroutines of the controller.
func (c *controller) stop() {
	c.cancel()
	c.upstream.Run(c.ctx, 1)
}

// begin gives the controller a new autoscaler over a new target.
func (c *controller) begin(hpa *autoscalingv2.HorizontalPodAutoscaler, replicas, unready int32) {
	*c.target = target{hpa: hpa, replicas: replicas, statusReplicas: replicas, unready: unready}
	if err := c.hpas.GetIndexer().Add(hpa); err != nil {
		panic(err)
	}
}

// end deletes the autoscaler, so that the controller drops its state.
func (c *controller) end() {
	if err := c.hpas.GetIndexer().Delete(c.target.hpa); err != nil {
		panic(err)
	}
	if err := c.look(); err != nil {
		panic(err)
	}
}

func (t *target) scale() *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.hpa.Name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: t.replicas},
		Status:     autoscalingv1.ScaleStatus{Replicas: t.statusReplicas, Selector: "app=" + t.hpa.Name},
	}
}

// scales reads and writes the target's scale subresource.
type scales struct {
	scaleclient.ScaleInterface
	target *target
}

func (s scales) Scales(string) scaleclient.ScaleInterface { return s }

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return s.target.scale(), nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, scale *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	s.target.replicas = scale.Spec.Replicas
	return scale, nil
}

// statuses keeps the status of the autoscaler where the controller reads it again.
type statuses struct {
	autoscalingclient.HorizontalPodAutoscalerInterface
	target *target
	hpas   cache.SharedIndexInformer
}

func (s statuses) HorizontalPodAutoscalers(string) autoscalingclient.HorizontalPodAutoscalerInterface {
	return s
}

func (s statuses) UpdateStatus(_ context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	kept := s.target.hpa.DeepCopy()
	kept.Status = hpa.Status
	s.target.hpa = kept
	return kept, s.hpas.GetIndexer().Update(kept)
}

// measured returns the external metrics. The name of a metric is its index.
type measured struct {
	metrics.MetricsClient
	target *target
}

func (m measured) GetExternalMetric(name string, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	for index, metric := range m.target.hpa.Spec.Metrics {
		if metric.External.Metric.Name == name && index < len(m.target.samples) && m.target.samples[index] != nil {
			return []int64{*m.target.samples[index]}, time.Now(), nil
		}
	}
	return nil, time.Time{}, errors.New("no sample")
}

// events discards Events.
type events struct{ coreclient.EventInterface }

func (e events) Events(string) coreclient.EventInterface { return e }

func (events) CreateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	return event, nil
}

func (events) UpdateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	return event, nil
}

func (events) PatchWithEventNamespace(event *corev1.Event, _ []byte) (*corev1.Event, error) {
	return event, nil
}

// filled is an informer with given objects.
type filled struct{ cache.SharedIndexInformer }

func (filled) HasSynced() bool { return true }

type hpaInformer struct{ filled }

func (i hpaInformer) Informer() cache.SharedIndexInformer { return i.filled }

func (i hpaInformer) Lister() autoscalinglisters.HorizontalPodAutoscalerLister {
	return autoscalinglisters.NewHorizontalPodAutoscalerLister(i.GetIndexer())
}

// podInformer lists the pods of the target, with the number in its status.
type podInformer struct{ target *target }

func (podInformer) Informer() cache.SharedIndexInformer {
	return filled{cache.NewSharedIndexInformer(nil, &corev1.Pod{}, syncPeriod, nil)}
}

func (i podInformer) Lister() corelisters.PodLister { return pods(i) }

type pods struct{ target *target }

func (p pods) Pods(string) corelisters.PodNamespaceLister { return namespacedPods(p) }

func (p pods) List(selector labels.Selector) ([]*corev1.Pod, error) {
	return namespacedPods(p).List(selector)
}

type namespacedPods struct{ target *target }

func (p namespacedPods) List(labels.Selector) ([]*corev1.Pod, error) {
	listed := make([]*corev1.Pod, p.target.statusReplicas)
	for index := range listed {
		if index < int(p.target.unready) {
			listed[index] = unreadyPod
		} else {
			listed[index] = readyPod
		}
	}
	return listed, nil
}

func (namespacedPods) Get(string) (*corev1.Pod, error) { return readyPod, nil }

var (
	readyPod   = pod("ready", corev1.ConditionTrue)
	unreadyPod = pod("unready", corev1.ConditionFalse)
)

func pod(name string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		},
	}
}
