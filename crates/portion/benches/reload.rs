//! Delay from the end of a change of its file until the real program obeys it, while it serves 500 requests a second: 200
//! changes of each kind, from one configuration to another that differs at its beginning and at its end.
//!
//! A change is obeyed from the first request on after which every reply obeys it, by when it was sent. A reply that obeys
//! neither configuration, or a part of each, is mixed.
//!
//! `cargo bench -p portion --bench reload`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod http;
#[path = "../../portion-config/benches/kinds/mod.rs"]
mod kinds;

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use http::{Peer, Portion};
use kinds::{Change, KINDS};

/// Changes of each kind.
const CHANGES: usize = 200;
/// Requests a second.
const RATE: u32 = 500;
/// Connections that share them.
const PEERS: u32 = 10;
/// Without a reply that obeys it for so long, a change is missed.
const MISSED: Duration = Duration::from_secs(5);
/// For how long replies have to go on obeying it.
const LASTING: Duration = Duration::from_millis(30);

/// Configuration that a reply obeys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Obeys {
    One,
    Other,
    Mixed,
}

struct Reply {
    sent: Instant,
    /// `None` where it failed.
    obeys: Option<Obeys>,
}

/// Counts of a kind of change.
#[derive(Default)]
struct Figures {
    times: Vec<f64>,
    missed: usize,
    mixed: usize,
    failed: usize,
    requests: usize,
}

fn main() -> io::Result<()> {
    // Run as a test it has nothing to say.
    if std::env::args().nth(1).as_deref() == Some("--bench") { compare() } else { Ok(()) }
}

fn compare() -> io::Result<()> {
    let server = http::server(Box::leak(listing().into_boxed_str()))?;
    println!("{:<30} {:>8} {:>8} {:>8}", "ms from change to obedience", "p50", "p99", "max");
    println!(
        "{:<30} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "target", "", "≤ 100", "", "0 missed", "0 mixed", "0 failed"
    );
    for (name, change) in KINDS {
        let folder = tempfile::tempdir()?;
        let began = Instant::now();
        let Figures { mut times, missed, mixed, failed, requests } = measure(server, folder.path(), *change)?;
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            times.get((times.len().saturating_sub(1)) * percent / 100).copied().unwrap_or(f64::NAN)
        };
        let [p50, p99, max] = [50, 99, 100].map(at);
        let rate = requests as f64 / began.elapsed().as_secs_f64();
        println!(
            "{name:<30} {p50:>8.1} {p99:>8.1} {max:>8.1} {missed:>8} {mixed:>8} {failed:>8} of {requests}; {rate:.0}/s"
        );
    }
    Ok(())
}

fn measure(server: SocketAddr, folder: &Path, change: Change) -> io::Result<Figures> {
    let path = folder.join("portion.yaml");
    fs::write(&path, text(Obeys::One))?;
    let log = File::options()
        .create(true)
        .append(true)
        .open(concat!(env!("CARGO_TARGET_TMPDIR"), "/reload.log"))?;
    let portion = Portion::before(
        server,
        |command| {
            command.args(["--admin", "off", "--snapshot-memory", "64MiB", "--config"]).arg(&path);
            command.env("XDG_STATE_HOME", folder.join("state")).env("XDG_DATA_HOME", folder.join("data"));
            command.env_remove("PORTION_LOG").env("PORTION_LOG_LEVEL", "error");
        },
        log,
    )?;
    let (tell, replies) = mpsc::channel();
    let (start, stop) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|threads| {
        for peer in 0..PEERS {
            let (tell, stop) = (tell.clone(), &stop);
            threads.spawn(move || ask(portion.address, peer, start, stop, &tell));
        }
        let figures = changed(&path, change, &replies);
        stop.store(true, Ordering::Relaxed);
        figures
    })
}

/// Sends the requests of one connection when they are due, whatever becomes of those of the others.
fn ask(address: SocketAddr, peer: u32, start: Instant, stop: &AtomicBool, tell: &Sender<Reply>) {
    let mut connection = None;
    for number in 0.. {
        let due = start + Duration::from_secs(1) / RATE * (number * PEERS + peer);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut open = match connection.take() {
            Some(open) => Ok(open),
            None => Peer::connect(address, peer as usize),
        };
        let sent = Instant::now();
        let result = open.as_mut().map_err(|_| ()).and_then(|open| open.call().map_err(|_| ()));
        let obeys = result.ok().map(|result| obeyed(&result));
        // One that failed is not used again.
        connection = open.ok().filter(|_| obeys.is_some());
        let _ = tell.send(Reply { sent, obeys });
    }
}

fn changed(path: &Path, change: Change, replies: &Receiver<Reply>) -> io::Result<Figures> {
    let mut figures = Figures::default();
    if await_all(replies, Obeys::One, [Instant::now(); 2], &mut figures).is_none() {
        return Err(io::Error::other("what it is started with is not obeyed"));
    }
    for number in 1..=CHANGES {
        // At any time of the requests, and of the watch.
        thread::sleep(Duration::from_micros(10_000 + number as u64 * 7_919 % 30_000));
        let target = if number % 2 == 1 { Obeys::Other } else { Obeys::One };
        let began = Instant::now();
        change(path, &text(target))?;
        match await_all(replies, target, [began, Instant::now()], &mut figures) {
            Some(took) => figures.times.push(took.as_secs_f64() * 1e3),
            None => figures.missed += 1,
        }
    }
    Ok(figures)
}

/// Returns the delay from the end of a change to the first request from which on all replies obey. What was sent before its
/// beginning tells nothing: it may be late, and obey the configuration before the last.
fn await_all(
    replies: &Receiver<Reply>,
    target: Obeys,
    [began, done]: [Instant; 2],
    figures: &mut Figures,
) -> Option<Duration> {
    let (mut seen, mut until) = (Vec::new(), done + MISSED);
    let mut is_obeyed = false;
    while let Ok(Reply { sent, obeys }) =
        replies.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        figures.requests += 1;
        let Some(obeys) = obeys else {
            figures.failed += 1;
            continue;
        };
        figures.mixed += usize::from(obeys == Obeys::Mixed);
        if sent < began {
            continue;
        }
        if obeys == target && !is_obeyed {
            (is_obeyed, until) = (true, Instant::now() + LASTING);
        }
        seen.push((sent, obeys == target));
    }
    seen.sort_unstable();
    let from = seen.iter().rposition(|(_, obeys)| !obeys).map_or(0, |last| last + 1);
    let (sent, _) = seen.get(from)?;
    Some(sent.saturating_duration_since(done))
}

fn obeyed(result: &str) -> Obeys {
    match (result.contains("\"pageSize\":10,"), result.contains("\"page_size\":20,")) {
        (true, false) => Obeys::One,
        (false, true) => Obeys::Other,
        _ => Obeys::Mixed,
    }
}

fn text(which: Obeys) -> String {
    let (size, style) = if which == Obeys::One { (10, "camel") } else { (20, "snake") };
    let rule = |n: usize| format!("  other_{n}_*: {{ tokenBudgetThreshold: {n} }}\n");
    let others = (2_000..2_100).map(rule).collect::<Vec<_>>().concat();
    format!("defaultPageSize: {size}\nendpoints:\n{others}metadataStyle: {style}\n")
}

/// A list of 60 items, as a result.
fn listing() -> String {
    let items: Vec<_> =
        (0..60).map(|n| format!("{{\\\"id\\\":{n},\\\"name\\\":\\\"item {n}\\\"}}")).collect();
    format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"[{}]\"}}]}}", items.join(","))
}
