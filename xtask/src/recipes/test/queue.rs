//! The order in which the programs start. `running` starts them.
//!
//! Programs of real-cluster tests mostly wait, the others compute. So each group has a limit of its own, and the
//! longest program of each group starts first: a long program at the end would run alone.

use std::time::Duration;

/// The main activity of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Waiting for a real cluster.
    Cluster,
    /// Computing.
    Computing,
}

/// The programs that have not started, by their index.
#[derive(Debug)]
pub(super) struct Queue {
    /// Sorted by duration, the longest program last.
    waiting: Vec<(Duration, Lane, usize)>,
    running: Vec<(usize, Lane)>,
    jobs: usize,
    is_cluster_ready: bool,
}

impl Queue {
    /// Programs with their expected durations. `jobs` real-cluster tests run at a time, and half as many of the
    /// others.
    pub(super) fn new(programs: impl IntoIterator<Item = (Duration, Lane)>, jobs: usize) -> Self {
        let numbered = (0..).zip(programs).map(|(index, (expected, lane))| (expected, lane, index));
        let mut waiting: Vec<_> = numbered.collect();
        waiting.sort_by_key(|(expected, ..)| *expected);
        Self { waiting, running: Vec::new(), jobs, is_cluster_ready: false }
    }

    /// Allows the programs of real-cluster tests to start.
    pub(super) fn cluster_is_ready(&mut self) {
        self.is_cluster_ready = true;
    }

    /// Removes the programs of real-cluster tests, and returns them.
    pub(super) fn give_up_cluster(&mut self) -> Vec<usize> {
        let all = std::mem::take(&mut self.waiting);
        let (given_up, rest) = all.into_iter().partition(|(_, lane, _)| *lane == Lane::Cluster);
        self.waiting = rest;
        let given_up: Vec<_> = given_up;
        given_up.into_iter().map(|(.., index)| index).collect()
    }

    /// The next program to start now; `None` if no program may start.
    pub(super) fn start(&mut self) -> Option<usize> {
        let can_start = |lane: Lane| {
            let running = self.running.iter().filter(|(_, other)| *other == lane).count();
            match lane {
                Lane::Cluster => self.is_cluster_ready && running < self.jobs,
                Lane::Computing => running < self.jobs.div_ceil(2),
            }
        };
        let next = self.waiting.iter().rposition(|(_, lane, _)| can_start(*lane))?;
        let (_, lane, index) = self.waiting.remove(next);
        self.running.push((index, lane));
        Some(index)
    }

    /// Records that a program has ended.
    pub(super) fn end(&mut self, ended: usize) {
        self.running.retain(|(index, _)| *index != ended);
    }

    /// The number of programs that have not started.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether all programs have ended.
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(seconds: &[(u64, Lane)], jobs: usize) -> Queue {
        let expected = |(seconds, lane): &(u64, Lane)| (Duration::from_secs(*seconds), *lane);
        Queue::new(seconds.iter().map(expected), jobs)
    }

    #[test]
    fn the_longest_program_starts_first() {
        let mut queue = queue(&[(1, Lane::Computing), (9, Lane::Computing)], 2);
        assert_eq!((queue.start(), queue.start()), (Some(1), None));
        queue.end(1);
        assert_eq!((queue.start(), queue.is_done()), (Some(0), false));
        queue.end(0);
        assert!(queue.is_done());
    }

    #[test]
    fn computing_programs_run_in_parallel_with_waiting_ones() {
        let mut queue = queue(
            &[(9, Lane::Cluster), (8, Lane::Cluster), (7, Lane::Cluster), (1, Lane::Computing)],
            2,
        );
        queue.cluster_is_ready();
        let started: Vec<_> = std::iter::from_fn(|| queue.start()).collect();
        assert_eq!(started, [0, 1, 3]);
    }

    #[test]
    fn real_cluster_tests_wait_for_the_cluster_or_are_given_up() {
        let mut queue = queue(&[(9, Lane::Cluster), (1, Lane::Computing)], 4);
        assert_eq!((queue.start(), queue.start()), (Some(1), None));
        assert_eq!(queue.give_up_cluster(), [0]);
        queue.end(1);
        assert!(queue.is_done());
    }
}
