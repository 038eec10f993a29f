//! Measures the latency that the relay adds to an echoed message. One program plays all three roles, so that
//! the figures of a run come from the same machine at the same time.
//!
//! `cargo bench -p portion-mcp --bench relay`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

#[path = "../examples/pass_through.rs"]
#[allow(dead_code, reason = "its `main` is not the one that runs here")]
mod pass_through;

fn main() -> io::Result<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.first().and_then(|role| role.to_str()) {
        Some("echo") => echo()?,
        Some("relay") => return Ok(pass_through::run(args[1..].to_vec())),
        _ => compare()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn compare() -> io::Result<()> {
    let this = std::env::current_exe()?;
    let mut direct = Peer::start(Command::new(&this).arg("echo"))?;
    let mut relayed = Peer::start(Command::new(&this).arg("relay").arg(&this).arg("echo"))?;
    println!(
        "{:>12} {:>8} {:>22} {:>22} {:>10}",
        "message", "rounds", "direct p50 / p95", "relayed p50 / p95", "added p50"
    );
    for (bytes, rounds) in
        [(100, 20_000), (10_000, 10_000), (100_000, 2_000), (1_000_000, 300), (12_000_000, 30)]
    {
        let message = message(bytes);
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for block in 0..10 {
            // The first block is a warm-up.
            let times = [direct.rounds(&message, rounds / 10)?, relayed.rounds(&message, rounds / 10)?];
            if block > 0 {
                without.extend(&times[0]);
                with.extend(&times[1]);
            }
        }
        let ([without, without95], [with, with95]) = (percentiles(without), percentiles(with));
        println!(
            "{bytes:>10} B {rounds:>8} {:>22} {:>22} {:>7.1} µs",
            format!("{without:.1} / {without95:.1} µs"),
            format!("{with:.1} / {with95:.1} µs"),
            with - without
        );
    }
    direct.end()?;
    relayed.end()
}

/// Returns a response, so that the relay's message processor keeps no state for it.
fn message(bytes: usize) -> Vec<u8> {
    let mut message = br#"{"jsonrpc":"2.0","id":1,"result":""#.to_vec();
    message.resize(bytes - 2, b'x');
    message.extend(b"\"}");
    message
}

fn percentiles(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort_unstable();
    [50, 95].map(|percent| times[times.len() * percent / 100].as_secs_f64() * 1e6)
}

/// A child process that answers over pipes.
struct Peer {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Peer {
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let gone = || io::Error::other("a piped stream is there once");
        let stdin = process.stdin.take().ok_or_else(gone)?;
        let stdout = BufReader::with_capacity(256 << 10, process.stdout.take().ok_or_else(gone)?);
        Ok(Self { process, stdin, stdout })
    }

    fn rounds(&mut self, message: &[u8], rounds: usize) -> io::Result<Vec<Duration>> {
        let line = [message, b"\n"].concat();
        let mut answer = Vec::with_capacity(line.len());
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            answer.clear();
            let start = Instant::now();
            self.stdin.write_all(&line)?;
            self.stdout.read_until(b'\n', &mut answer)?;
            times.push(start.elapsed());
            assert_eq!(answer, line);
        }
        Ok(times)
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.stdin);
        assert!(self.process.wait()?.success());
        Ok(())
    }
}

/// Runs a server that echoes each line.
fn echo() -> io::Result<()> {
    let mut input = BufReader::with_capacity(256 << 10, io::stdin());
    let mut output = io::stdout();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        output.write_all(&line)?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}
