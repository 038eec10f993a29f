//! Time that `portion serve` adds to a small tool call over HTTP, cost of an idle session, and a check
//! that hundreds of sessions at once are served without an error: the real program in front of a server that only echoes,
//! against the same server called directly, in turns, so that the figures come from one machine at one moment.
//!
//! `cargo bench -p portion --bench serve`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod http;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use http::{Peer, Portion};

/// Calls in a turn.
const TURN: usize = 1_000;
/// Turns of each; the first ones only warm up.
const TURNS: usize = 9;
/// Sessions at the same time.
const SESSIONS: usize = 200;
/// Calls of each.
const CALLS: usize = 50;

const ANSWER: &str = r#"{"content":[{"type":"text","text":"a small answer"}]}"#;

fn main() -> io::Result<()> {
    // Run as a test it has nothing to say.
    if std::env::args().nth(1).as_deref() == Some("--bench") { compare() } else { Ok(()) }
}

fn compare() -> io::Result<()> {
    let server = http::server(ANSWER)?;
    let portion = Portion::before(server, |_| (), io::sink())?;
    let (mut direct, mut through) = (Peer::connect(server, 0)?, Peer::connect(portion.address, 0)?);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let times = [calls(&mut direct, TURN)?, calls(&mut through, TURN)?];
        if turn > 0 {
            let [direct, through] = times;
            without.extend(direct);
            with.extend(through);
        }
    }
    let (without, with) = (sorted(without), sorted(with));
    println!("{:<28}{:>10}{:>10}{:>10}{:>10}", "a call and its answer", "target", "p50", "p95", "max");
    let row = |name: &str, times: &[Duration]| {
        let [p50, p95, max] = [50, 95, 100].map(|percent| format!("{:.0} µs", at(times, percent)));
        println!("{name:<38}{p50:>10}{p95:>10}{max:>10}");
    };
    row("directly", &without);
    row("through portion serve", &with);
    println!("{:<28}{:>10}{:>7.0} µs", "added", "≤ 300 µs", at(&with, 50) - at(&without, 50));
    sessions(&portion)
}

fn sessions(portion: &Portion) -> io::Result<()> {
    let before = resident(portion)?;
    let mut idle = Vec::with_capacity(SESSIONS);
    for n in 1..=SESSIONS {
        idle.push((Peer::connect(portion.address, n)?, listen(portion.address, n)?));
    }
    // What was only borrowed for the opening is given back.
    thread::sleep(Duration::from_secs(1));
    let each = resident(portion)?.saturating_sub(before) / SESSIONS;
    println!("{:<28}{:>10}{:>7} KiB", "memory of an idle session", "≤ 64 KiB", each >> 10);
    let errors = AtomicUsize::new(0);
    let start = Instant::now();
    thread::scope(|threads| {
        for (peer, _) in &mut idle {
            threads.spawn(|| {
                if calls(peer, CALLS).is_err() {
                    errors.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (errors, rate) = (errors.into_inner(), (SESSIONS * CALLS) as f64 / start.elapsed().as_secs_f64());
    println!("{:<28}{:>10}{errors:>7} of {SESSIONS}; {rate:.0} calls/s", "sessions with an error", "0");
    Ok(())
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
}

/// A percentile of sorted times, in microseconds.
fn at(times: &[Duration], percent: usize) -> f64 {
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6
}

/// A program's memory in bytes.
fn resident(portion: &Portion) -> io::Result<usize> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", portion.process.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kilobytes.map(|kilobytes| kilobytes << 10).ok_or_else(|| io::Error::other("no VmRSS"))
}

/// The stream on which a session waits for what the server says unasked.
fn listen(address: SocketAddr, session: usize) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: s{session}\r\n\r\n"
    )?;
    let mut some = [0; 256];
    assert!(stream.read(&mut some)? > 0);
    Ok(stream)
}

fn calls(peer: &mut Peer, count: usize) -> io::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        let answer = peer.call()?;
        times.push(start.elapsed());
        if answer != ANSWER {
            return Err(io::Error::other(answer));
        }
    }
    Ok(times)
}
