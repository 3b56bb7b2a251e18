//! Runs pieces of work on several threads, and returns the results in order.
//!
//! Of `n` threads the first runs the pieces 0, n, 2n and so on, the second 1, n + 1, and so on.
//! Each thread has a queue for its results, and the receiver visits the queues in the order of the
//! pieces. A queue is bounded: a thread that is too far ahead waits, so that memory does not grow
//! with the number of pieces. The module is independent of the kind of work.

use std::num::NonZero;
use std::panic;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context as _, anyhow};

use super::progress::Progress;

/// The maximum number of messages in a queue.
const AHEAD: usize = 16;

enum Message<T> {
    Found(T),
    /// The end of the results of a piece.
    Finished,
    Failed(anyhow::Error),
}

/// Runs `count` pieces of work and calls `each` with all their results, in the order of the pieces: the calls are the
/// same for any number of threads. `work` passes any number of results to its second argument; if that fails, it must
/// stop.
///
/// Ends with the first error in that order. A panic of `work` is a panic here.
pub(crate) fn in_order<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize, &mut dyn FnMut(T) -> anyhow::Result<()>) -> anyhow::Result<()> + Sync,
    mut each: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).try_for_each(|piece| work(piece, &mut each));
    }
    let work = &work;
    thread::scope(|scope| {
        let (mut queues, mut workers) = (Vec::new(), Vec::new());
        for first in 0..threads {
            let (sender, queue) = sync_channel(AHEAD);
            let pieces = (first..count).step_by(threads);
            let worker = thread::Builder::new()
                .spawn_scoped(scope, move || work_off(pieces, work, &sender))
                .context("failed to start a thread")?;
            queues.push(queue);
            workers.push(worker);
        }
        let result = take_in_turn(&queues, count, each);
        // The remaining threads fail to send their next result, and stop.
        drop(queues);
        for worker in workers {
            if let Err(cause) = worker.join() {
                panic::resume_unwind(cause);
            }
        }
        result
    })
}

/// The number of threads to use; 1 if the number of CPUs is unknown.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The results of each piece of work, in the order of the pieces. A terminal shows the progress of the work; `doing`
/// names it.
pub(crate) fn collected<T: Send>(
    doing: &'static str,
    count: usize,
    threads: usize,
    find: impl Fn(usize) -> T + Sync,
) -> anyhow::Result<Vec<T>> {
    let mut progress = Progress::new(doing, count);
    let mut all = Vec::with_capacity(count);
    let work = |piece: usize, hand: &mut dyn FnMut(T) -> anyhow::Result<()>| hand(find(piece));
    in_order(count, threads, work, |found| {
        all.push(found);
        progress.advance();
        Ok(())
    })?;
    Ok(all)
}

fn work_off<T>(
    pieces: impl Iterator<Item = usize>,
    work: impl Fn(usize, &mut dyn FnMut(T) -> anyhow::Result<()>) -> anyhow::Result<()>,
    sender: &SyncSender<Message<T>>,
) {
    let receiver_is_closed = |_| anyhow!("the receiver is closed");
    for piece in pieces {
        let done = work(piece, &mut |found| {
            sender.send(Message::Found(found)).map_err(receiver_is_closed)
        });
        let is_done = done.is_ok();
        let message = done.map_or_else(Message::Failed, |()| Message::Finished);
        if sender.send(message).is_err() || !is_done {
            return;
        }
    }
}

fn take_in_turn<T>(
    queues: &[Receiver<Message<T>>],
    count: usize,
    mut each: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for queue in queues.iter().cycle().take(count) {
        loop {
            match queue.recv().context("a thread ended before its work was done")? {
                Message::Found(found) => each(found)?,
                Message::Finished => break,
                Message::Failed(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns two results for each piece, and none for every fifth.
    fn two_each(
        piece: usize,
        hand: &mut dyn FnMut((usize, char)) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if piece % 5 == 4 {
            return Ok(());
        }
        hand((piece, 'a'))?;
        hand((piece, 'b'))
    }

    #[test]
    fn results_arrive_in_order_with_any_number_of_threads() {
        for count in [0, 1, 2, 7, 100] {
            let with_letters = |piece| [(piece, 'a'), (piece, 'b')];
            let expected: Vec<_> =
                (0..count).filter(|piece| piece % 5 != 4).flat_map(with_letters).collect();
            for threads in [0, 1, 2, 3, 7, 200] {
                let mut found = Vec::new();
                in_order(count, threads, two_each, |it| {
                    found.push(it);
                    Ok(())
                })
                .unwrap();
                assert_eq!(found, expected, "{count} pieces on {threads} threads");
            }
        }
    }

    #[test]
    fn a_single_thread_or_piece_runs_on_the_calling_thread() {
        let here = thread::current().id();
        for (count, threads) in [(5, 1), (1, 5)] {
            let where_done =
                |_, hand: &mut dyn FnMut(_) -> anyhow::Result<()>| hand(thread::current().id());
            let each = |done| {
                assert_eq!(done, here);
                Ok(())
            };
            in_order(count, threads, where_done, each).unwrap();
        }
    }

    #[test]
    fn no_thread_runs_ahead_further_than_its_queue() {
        const THREADS: usize = 3;
        let (found, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let most = Mutex::new(0);
        let count = 200 * THREADS;
        let work = |piece, hand: &mut dyn FnMut(usize) -> anyhow::Result<()>| {
            let found = found.fetch_add(1, Ordering::SeqCst) + 1;
            let ahead = found.saturating_sub(taken.load(Ordering::SeqCst));
            let mut most = most.lock().unwrap();
            *most = ahead.max(*most);
            drop(most);
            hand(piece)
        };
        let each = |_| {
            taken.fetch_add(1, Ordering::SeqCst);
            thread::yield_now();
            Ok(())
        };
        in_order(count, THREADS, work, each).unwrap();
        assert_eq!(taken.load(Ordering::SeqCst), count);
        // Half of the messages in a queue only mark the end of a piece. One more result is about to enter the queue,
        // and another has just left.
        let most = most.into_inner().unwrap();
        assert!(most <= THREADS * (AHEAD / 2 + 2), "{most} were ahead");
    }

    #[test]
    fn all_threads_end_when_results_can_no_longer_be_consumed() {
        for threads in [1, 2, 7] {
            let begun = AtomicUsize::new(0);
            let endless = |_, hand: &mut dyn FnMut(usize) -> anyhow::Result<()>| {
                begun.fetch_add(1, Ordering::SeqCst);
                (0..).try_for_each(hand)
            };
            let mut taken = 0;
            let error = in_order(1_000_000, threads, endless, |_| {
                taken += 1;
                if taken == 100 { Err(anyhow!("the disk is full")) } else { Ok(()) }
            });
            assert_eq!(error.unwrap_err().to_string(), "the disk is full");
            assert_eq!(taken, 100);
            assert!(begun.into_inner() <= threads);
        }
    }

    #[test]
    fn an_error_arrives_after_all_earlier_results_and_ends_the_rest() {
        for threads in [1, 2, 7] {
            let mut taken = Vec::new();
            let fails = |piece, hand: &mut dyn FnMut(usize) -> anyhow::Result<()>| {
                hand(piece)?;
                if piece == 5 || piece == 6 { Err(anyhow!("no {piece}")) } else { Ok(()) }
            };
            let error = in_order(1_000_000, threads, fails, |piece| {
                taken.push(piece);
                Ok(())
            });
            assert_eq!(error.unwrap_err().to_string(), "no 5");
            assert_eq!(taken, [0, 1, 2, 3, 4, 5]);
        }
    }

    #[test]
    fn a_panic_in_a_piece_reaches_the_caller() {
        for threads in [1, 2, 7] {
            let panics = |piece, hand: &mut dyn FnMut(usize) -> anyhow::Result<()>| {
                assert!(piece != 5, "five");
                hand(piece)
            };
            let run = AssertUnwindSafe(|| in_order(1_000_000, threads, panics, |_| Ok(())));
            let cause = panic::catch_unwind(run).unwrap_err();
            assert!(
                cause.downcast_ref::<String>().is_some_and(|it| it.contains("five"))
                    || cause.downcast_ref::<&str>() == Some(&"five")
            );
        }
    }
}
