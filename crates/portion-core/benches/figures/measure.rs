//! Medians of this thread's processor time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time that this thread has used so far.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Time of one run.
pub(crate) fn once<T>(run: impl FnOnce() -> T) -> Duration {
    let start = now();
    let kept = std::hint::black_box(run());
    let took = now().saturating_sub(start);
    drop(kept);
    took
}

/// The median over several runs of something quick.
pub(crate) fn median_of<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    median((0..runs).map(|_| once(&mut run)).collect())
}

/// The middle of several.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Milliseconds or microseconds, as people read them.
pub(crate) fn told(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros >= 1e3 { format!("{:.2} ms", micros / 1e3) } else { format!("{micros:.0} µs") }
}
