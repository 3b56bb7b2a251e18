//! Turns of pods in front of a stub of the API.

use almanac_engine::Exemptions;
use almanac_engine::units::Pod;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::event_log::{EventLog, EventMetrics};
use almanac_shell::lease::Fence;
use almanac_shell::monotonic::Monotonic;
use almanac_shell::writer::{WriteMetrics, Writer};
use almanac_stub::Stub;
use tokio::sync::Notify;

use super::*;
use crate::extender::metrics::PodWriteMetrics;
use crate::extender::watches::pod_identity;

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_has_no_further_turn_while_everything_is_stopped() {
    let (client, clock) = (Stub::new().client(), Clock::from_fn(|| Timestamp::UNIX_EPOCH));
    let (budget, metrics) = (WriteBudget::new(WriteLimits::default()), WriteMetrics::default());
    let writer = Writer::new(client.clone(), Fence::open(), budget, metrics);
    let (events, _writing_events) = EventLog::new(writer.clone(), "test", &EventMetrics::default());
    let (metrics, exempt) = (PodWriteMetrics::default(), Exemptions::default());
    let leader = Arc::new(Leader::new((client, writer), metrics, Monotonic::system(), exempt));
    let statuses = Arc::new(Statuses {
        leader: Arc::clone(&leader),
        events,
        clock: clock.clone(),
        seed: 1,
        changed: Notify::new(),
    });
    let pod_writer = PodWriter {
        leader,
        pods: WorkQueue::new(clock.clone()),
        statuses,
        switch: Switch::new(clock.clone()),
        clock,
        warned: Mutex::default(),
        refused: Mutex::default(),
    };
    pod_writer.switch.update(Some("wrong values"));
    let pod = pod_identity("shop", "web");
    pod_writer.leader.lock().ledger.set_pod(&pod, &Pod::default());
    pod_writer.leader.lock().woken.insert(pod.clone());
    assert_eq!(pod_writer.take_turn(&pod).await, pod_writer.clock.now().checked_add(RETRY).ok());
    pod_writer.leader.lock().ledger.remove_pod(&pod, None, None);
    assert_eq!(pod_writer.take_turn(&pod).await, None);
    assert!(pod_writer.leader.lock().woken.is_empty());
}
