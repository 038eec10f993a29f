//! Cost of recording in the real program: replies a second as fast as they come, and processor time for each at 2,000
//! a second, with and without telemetry, in turns, so that the figures come from one machine at one moment.
//!
//! `cargo bench -p portion --bench recording`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod http;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use http::{Peer, Portion};

/// Connections that ask at the same time.
const PEERS: usize = 8;
/// Duration of a run.
const TURN: Duration = Duration::from_secs(2);
/// Turns of each; the first one only warms up.
const TURNS: usize = 9;
/// Requests a second.
const RATE: usize = 2_000;

const ANSWER: &str = r#"{"content":[{"type":"text","text":"a small answer"}]}"#;

/// Result of a run.
#[derive(Clone, Copy)]
struct Turn {
    replies: usize,
    took: Duration,
    /// Clock ticks of the processor that the program used.
    ticks: u64,
}

fn main() -> io::Result<()> {
    // Run as a test it has nothing to say.
    if std::env::args().nth(1).as_deref() == Some("--bench") { compare() } else { Ok(()) }
}

fn compare() -> io::Result<()> {
    let server = http::server(ANSWER)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("telemetry.db");
    let portion = |telemetry: &str| {
        let options = ["--admin", "off", "--telemetry", telemetry];
        let with = |command: &mut Command| {
            command.args(options);
        };
        Portion::before(server, with, io::sink())
    };
    let (without, with) = (portion("off")?, portion(&file.to_string_lossy())?);
    println!("{:<44}{:>10}{:>10}{:>10}{:>10}", "medians", "target", "without", "with", "change");
    for (name, rate) in [("as fast as they come", None), ("at 2,000 a second", Some(RATE))] {
        let (mut off, mut on) = (Vec::new(), Vec::new());
        for turn in 0..TURNS {
            let turns = [asked(&without, rate)?, asked(&with, rate)?];
            if turn > 0 {
                off.push(turns[0]);
                on.push(turns[1]);
            }
        }
        row(&format!("replies a second, {name}"), "-5 %", &off, &on, |turn| {
            turn.replies as f64 / turn.took.as_secs_f64()
        });
        row(&format!("processor time each, µs, {name}"), "", &off, &on, |turn| {
            // Linux tells it in hundredths of a second.
            turn.ticks as f64 * 1e4 / turn.replies as f64
        });
    }
    Ok(())
}

fn row(name: &str, target: &str, without: &[Turn], with: &[Turn], figure: fn(&Turn) -> f64) {
    let [without, with] = [without, with].map(|turns| median(turns.iter().map(figure).collect()));
    let change = 100.0 * (with / without - 1.0);
    println!("{name:<44}{target:>10}{without:>10.1}{with:>10.1}{change:>8.1} %");
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A turn of requests, so many a second in all, or as fast as they are answered.
fn asked(portion: &Portion, rate: Option<usize>) -> io::Result<Turn> {
    let (before, start) = (ticks(portion)?, Instant::now());
    let address = portion.address;
    let replies = thread::scope(|threads| {
        let peers: Vec<_> = (0..PEERS).map(|peer| threads.spawn(move || ask(address, peer, rate))).collect();
        let each = |peer: thread::ScopedJoinHandle<'_, _>| {
            peer.join().unwrap_or_else(|_| Err(io::Error::other("a client panicked")))
        };
        peers.into_iter().map(each).sum::<io::Result<usize>>()
    })?;
    Ok(Turn { replies, took: start.elapsed(), ticks: ticks(portion)? - before })
}

fn ask(address: SocketAddr, session: usize, rate: Option<usize>) -> io::Result<usize> {
    let mut peer = Peer::connect(address, session)?;
    let (start, mut replies) = (Instant::now(), 0);
    while start.elapsed() < TURN {
        if let Some(rate) = rate {
            let due = Duration::from_secs_f64((replies * PEERS) as f64 / rate as f64);
            thread::sleep(due.saturating_sub(start.elapsed()));
        }
        if peer.call()? != ANSWER {
            return Err(io::Error::other("another answer"));
        }
        replies += 1;
    }
    Ok(replies)
}

/// Processor time that a program has used, in hundredths of a second.
fn ticks(portion: &Portion) -> io::Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", portion.process.id()))?;
    // After the name, which is in parentheses: state, and ten numbers before the two that count.
    let figures = stat.rsplit(')').next().unwrap_or_default();
    let spent = figures.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    spent.sum::<Result<u64, _>>().map_err(io::Error::other)
}
