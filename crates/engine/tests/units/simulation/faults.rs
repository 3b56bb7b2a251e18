//! Faults that a change to the code could introduce: in what a ledger receives, in when it receives it, and in how
//! its results are used. For each fault, the check that must catch it alone.

/// A property of a cluster, which catches a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    /// No cap is exceeded where only we could have exceeded it.
    Caps,
    /// Nothing is reserved or posted if our bindings leave no free capacity.
    Room,
    /// Only the pod with the reservation is bound.
    SamePod,
    /// The unit is that of the node as read.
    Units,
    /// A pod is sent to the best unit with free capacity only.
    Order,
    /// The ledger counts equal those of the plain count.
    Counts,
    /// Costs are the desired ones, and a user's own cost is kept.
    Costs,
    /// A binding never overwrites the cost that a user has set.
    UserCosts,
    /// Once the cluster is quiet, the counts of the ledger are correct, and no binding is unsettled.
    Quiet,
    /// Once the cluster is quiet, no pod is pending that could have a node.
    Woken,
}

/// A check that failed.
pub(super) struct Violation {
    pub(super) check: Check,
    pub(super) why: String,
}

pub(super) fn wrong(check: Check, why: impl Into<String>) -> Violation {
    Violation { check, why: why.into() }
}

/// The fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    BindsWithoutReserving,
    TakesTimeoutForFailure,
    TakesConflictForFailure,
    DropsPostedBindings,
    SettlesByEarlyReads,
    IgnoresPodsWithoutANode,
    PostsLate,
    PostsUnconfirmed,
    BindsByNameAlone,
    BindsAnyVersion,
    ReservesByTheWatch,
    IgnoresLossOfLeadership,
    ServesAtOnce,
    ServesWithoutAList,
    DropsReservationsInALongList,
    KeepsVersionsOfARestoredServer,
    AppliesOldEvents,
    CountsFinished,
    NeverSeesDeletion,
    TakesTerminatingForFinished,
    GovernsDaemonSets,
    TakesMissingLabelsForEmptyOnes,
    IgnoresRelabeledNodes,
    IgnoresEditedPolicies,
    IgnoresCaps,
    KeepsOnePolicy,
    AllowsLowerUnits,
    AllowsFullUnits,
    OverwritesCostsOfUsers,
    NeverWritesCosts,
    NeverWakes,
}

/// Each fault, with the check that must catch it.
pub(super) const ALL: [(Fault, Check); 31] = [
    (Fault::BindsWithoutReserving, Check::Caps),
    (Fault::TakesTimeoutForFailure, Check::Caps),
    (Fault::TakesConflictForFailure, Check::Room),
    (Fault::DropsPostedBindings, Check::Room),
    (Fault::SettlesByEarlyReads, Check::Caps),
    (Fault::IgnoresPodsWithoutANode, Check::Room),
    (Fault::PostsLate, Check::Caps),
    (Fault::PostsUnconfirmed, Check::Room),
    (Fault::BindsByNameAlone, Check::SamePod),
    (Fault::BindsAnyVersion, Check::UserCosts),
    (Fault::ReservesByTheWatch, Check::Units),
    (Fault::IgnoresLossOfLeadership, Check::Room),
    (Fault::ServesAtOnce, Check::Room),
    (Fault::ServesWithoutAList, Check::Caps),
    (Fault::DropsReservationsInALongList, Check::Room),
    (Fault::KeepsVersionsOfARestoredServer, Check::Quiet),
    (Fault::AppliesOldEvents, Check::Counts),
    (Fault::CountsFinished, Check::Counts),
    (Fault::NeverSeesDeletion, Check::Counts),
    (Fault::TakesTerminatingForFinished, Check::Counts),
    (Fault::GovernsDaemonSets, Check::Counts),
    (Fault::TakesMissingLabelsForEmptyOnes, Check::Counts),
    (Fault::IgnoresRelabeledNodes, Check::Counts),
    (Fault::IgnoresEditedPolicies, Check::Counts),
    (Fault::IgnoresCaps, Check::Caps),
    (Fault::KeepsOnePolicy, Check::Counts),
    (Fault::AllowsLowerUnits, Check::Order),
    (Fault::AllowsFullUnits, Check::Order),
    (Fault::OverwritesCostsOfUsers, Check::Costs),
    (Fault::NeverWritesCosts, Check::Costs),
    (Fault::NeverWakes, Check::Woken),
];
