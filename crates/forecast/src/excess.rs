//! The message about workloads that together need more than their allowance.

use std::fmt;

use almanac_engine::{Allowance, Bound, Bounding, Consumer, Identity, Labels, Resource, counted};
use jiff::Timestamp;

use crate::Writer;

/// A demand of workloads beyond their allowance of one resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excess<'a> {
    /// The exceeded allowance.
    pub allowance: &'a Allowance,
    /// The exceeded bound of the allowance.
    pub bound: &'a Bound,
    /// The first instant.
    pub at: Timestamp,
    /// The amount needed at that instant.
    pub needed: u128,
    /// The maximum amount needed, and its first instant.
    pub peak: (u128, Timestamp),
    /// Whether the workloads need the amount, rather than only might need it because policies raised a bound.
    pub is_certain: bool,
    /// The writer that causes the excess: of several, the one that adds most.
    pub by: Writer,
    /// The workload that the cause scales.
    pub consumer: &'a Consumer,
    /// The replicas of that workload at that instant.
    pub replicas: u32,
}

impl Excess<'_> {
    /// The instants of the excess, in order.
    #[must_use]
    pub fn instants(&self) -> Vec<Timestamp> {
        let mut instants = vec![self.at, self.peak.1];
        instants.dedup();
        instants
    }

    /// The advice to the user.
    #[must_use]
    pub fn advice(&self) -> String {
        match &self.allowance.by {
            Bounding::Quota(quota) => format!(
                "raise hard.{} of ResourceQuota {} to at least {}, or ask for fewer replicas",
                self.bound.key,
                quota.name(),
                self.bound.resource.quantity(self.peak.0)
            ),
            Bounding::Nodes { .. } => "add nodes, or ask for fewer replicas".to_owned(),
            Bounding::EachNode { .. } => {
                "add a node that is large enough, or lower what a pod requests".to_owned()
            }
        }
    }

    /// The needed amount and the pods that need it, in words.
    fn need(&self) -> String {
        let resource = self.bound.resource;
        let amount = resource.quantity(self.needed);
        let (may, have, are, least) = if self.is_certain {
            ("", "have", "are", "at least ")
        } else {
            ("may ", "may have", "may be", "up to ")
        };
        let which = match &self.allowance.by {
            Bounding::Quota(quota) => format!(" in namespace {}", quota.namespace()),
            Bounding::Nodes { selector, .. } | Bounding::EachNode { selector, .. } => {
                with_selector(selector)
            }
        };
        let pods = format!("pods{which}");
        match resource {
            Resource::RequestsCpu => format!("the {pods} {may}request {least}{amount} CPU"),
            Resource::RequestsMemory => {
                format!("the {pods} {may}request {least}{amount} of memory")
            }
            Resource::LimitsCpu => format!("the {pods} {have} CPU limits of {least}{amount}"),
            Resource::LimitsMemory => format!("the {pods} {have} memory limits of {least}{amount}"),
            Resource::Pods if self.needed == 1 => {
                let is = if self.is_certain { "is" } else { "may be" };
                format!("there {is} {least}1 pod{which}")
            }
            Resource::Pods => format!("there {are} {least}{amount} {pods}"),
        }
    }
}

impl fmt::Display for Excess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excess { bound, consumer, replicas, .. } = self;
        let up_to = if self.is_certain { "" } else { "up to " };
        write!(
            f,
            "at {:.0}, with {up_to}{}, ",
            self.at,
            replicas_of(*replicas, &consumer.workload)
        )?;
        let resource = bound.resource;
        let most = resource.quantity(bound.most.into());
        let more = resource.quantity(self.needed.saturating_sub(bound.most.into()));
        match &self.allowance.by {
            Bounding::Quota(quota) => write!(
                f,
                "{}, {more} more than ResourceQuota {} allows: {} is {most} ({})",
                self.need(),
                quota.name(),
                bound.key,
                bound.location
            )?,
            Bounding::Nodes { count, .. } => write!(
                f,
                "{}, {more} more than {} can allocate ({most}), wherever they are placed",
                self.need(),
                if *count == 1 { "the node".to_owned() } else { format!("the {count} nodes") }
            )?,
            Bounding::EachNode { count, selector } => {
                let selected = with_selector(selector);
                write!(f, "but a pod of it requests {}, which ", requests(consumer))?;
                return match count {
                    1 => write!(f, "the node{selected} cannot allocate"),
                    count => write!(f, "none of the {count} nodes{selected} can allocate"),
                };
            }
        }
        let (peak, at) = self.peak;
        if peak > self.needed {
            write!(f, "; later, up to {}, at {at:.0}", resource.quantity(peak))?;
        }
        Ok(())
    }
}

fn replicas_of(replicas: u32, workload: &Identity) -> String {
    format!("{} of {workload}", counted(replicas, "replica"))
}

/// The requests of a pod in words; `None` if it has no requests.
fn requests(consumer: &Consumer) -> String {
    let of = |resource: Resource, what: &str| {
        let amount = consumer.of_pod[resource.index()];
        (amount > 0).then(|| format!("{} {what}", resource.quantity(amount.into())))
    };
    let both = [of(Resource::RequestsCpu, "CPU"), of(Resource::RequestsMemory, "of memory")];
    both.into_iter().flatten().collect::<Vec<String>>().join(" and ")
}

fn with_selector(selector: &Labels) -> String {
    let selector = selector.to_string();
    if selector.is_empty() { selector } else { format!(" with nodeSelector {selector}") }
}
