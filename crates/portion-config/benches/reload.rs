//! Measures the time from the end of a change to the report of its text, with every core busy: 200
//! changes of each kind.
//!
//! `cargo bench -p portion-config --bench reload`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod kinds;

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use kinds::{Change, KINDS};
use portion_config::watch::{DebounceOptions, FileContent, WatchHandle};

const CHANGES: usize = 200;

fn main() -> io::Result<()> {
    let busy = Arc::new(AtomicBool::new(true));
    let cores = thread::available_parallelism()?.get();
    let load: Vec<_> = (0..cores)
        .map(|_| {
            let busy = Arc::clone(&busy);
            thread::spawn(move || {
                let mut sum = 0_u64;
                while busy.load(Ordering::Relaxed) {
                    sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
                }
            })
        })
        .collect();
    println!("{cores} cores, {cores} threads that do nothing else");
    println!("{:<30} {:>8} {:>8} {:>8} {:>8} {:>8}", "ms", "p50", "p99", "max", "missed", "mixed");
    slept()?;
    for (name, change) in KINDS {
        measure(name, *change)?;
    }
    busy.store(false, Ordering::Relaxed);
    load.into_iter().for_each(|thread| drop(thread.join()));
    Ok(())
}

/// Measures the delay of the machine itself: the time to wake from a sleep of the quiet interval.
fn slept() -> io::Result<()> {
    let sleep = || {
        let began = Instant::now();
        thread::sleep(DebounceOptions::default().quiet_interval);
        began.elapsed().as_secs_f64() * 1_000.0
    };
    // In a thread of its own, like the watch.
    let slept = thread::spawn(move || (0..CHANGES).map(|_| sleep()).collect()).join();
    print("(asleep for 15 ms)", slept.map_err(|_| io::ErrorKind::Other)?, 0, 0);
    Ok(())
}

fn measure(name: &str, change: Change) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("portion.yaml");
    fs::write(&path, text(0))?;
    let (tell, told) = mpsc::channel();
    let watch = WatchHandle::start(&path, Some(&text(0)), DebounceOptions::default(), move |seen| {
        let _ = tell.send((Instant::now(), seen));
    });
    let _watch = watch.map_err(io::Error::other)?;
    let (mut times, mut missed, mut mixed) = (Vec::new(), 0, 0);
    for number in 1..=CHANGES {
        change(&path, &text(number))?;
        match await_text(&told, &text(number), &mut mixed) {
            Some((at, done)) => times.push(at.saturating_duration_since(done).as_secs_f64() * 1_000.0),
            None => missed += 1,
        }
    }
    print(name, times, missed, mixed);
    Ok(())
}

fn print(name: &str, mut times: Vec<f64>, missed: usize, mixed: usize) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1))).copied()
    };
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| at(share).unwrap_or(f64::NAN));
    println!("{name:<30} {p50:>8.1} {p99:>8.1} {max:>8.1} {missed:>8} {mixed:>8}");
}

/// Returns the time of the report, and the time when the write was finished.
fn await_text(
    told: &Receiver<(Instant, FileContent)>,
    expect: &str,
    mixed: &mut usize,
) -> Option<(Instant, Instant)> {
    let done = Instant::now();
    loop {
        match told.recv_timeout(Duration::from_secs(5)).ok()? {
            (at, FileContent::Text(text)) if text.trim_end() == expect.trim_end() => return Some((at, done)),
            _ => *mixed += 1,
        }
    }
}

fn text(number: usize) -> String {
    format!("limits:\n  hardCap: {number}000\n")
        + &"  # a line of a file of some length\n".repeat(100)
        + "end: true\n"
}
