//! Time that `portion wrap` adds to a small tool call: the real program in front of a server that only echoes, against
//! the same server called directly, in turns, so that the figures come from one machine at one moment.
//!
//! `cargo bench -p portion --bench wrap`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Calls in a turn.
const TURN: usize = 2_000;
/// Turns of each; the first ones only warm up.
const TURNS: usize = 9;

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("echo") => echo(),
        Some("--bench") => compare(),
        // Run as a test it has nothing to say.
        _ => Ok(()),
    }
}

fn compare() -> io::Result<()> {
    let this = std::env::current_exe()?;
    let portion = env!("CARGO_BIN_EXE_portion");
    let mut direct = Peer::start(Command::new(&this).arg("echo"))?;
    let mut wrapped = Peer::start(Command::new(portion).args(["wrap", "--"]).arg(&this).arg("echo"))?;
    println!("{:<28}{:>10}{:>10}{:>10}{:>10}", "a call and its answer", "target", "p50", "p95", "max");
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let times = [direct.calls(turn)?, wrapped.calls(turn)?];
        if turn > 0 {
            let [direct, wrapped] = times;
            without.extend(direct);
            with.extend(wrapped);
        }
    }
    let (without, with) = (sorted(without), sorted(with));
    let row = |name: &str, target: &str, figures: [f64; 3]| {
        let [p50, p95, max] = figures.map(|figure| format!("{figure:.0} µs"));
        println!("{name:<28}{target:>10}{p50:>10}{p95:>10}{max:>10}");
    };
    let figures = |times: &[Duration]| [50, 95, 100].map(|percent| at(times, percent));
    row("directly", "", figures(&without));
    row("through portion wrap", "", figures(&with));
    println!("{:<28}{:>10}{:>7.0} µs", "added", "≤ 60 µs", at(&with, 50) - at(&without, 50));
    direct.end()?;
    wrapped.end()
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
}

/// A percentile of sorted times, in microseconds.
fn at(times: &[Duration], percent: usize) -> f64 {
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6
}

/// Whoever answers on the other side of a pipe.
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
        let stdout = BufReader::new(process.stdout.take().ok_or_else(gone)?);
        Ok(Self { process, stdin, stdout })
    }

    fn calls(&mut self, turn: usize) -> io::Result<Vec<Duration>> {
        let mut answer = String::new();
        let mut times = Vec::with_capacity(TURN);
        for call in 0..TURN {
            let id = turn * TURN + call;
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\
                 \"arguments\":{{\"message\":\"a small call\"}}}}}}\n"
            );
            answer.clear();
            let start = Instant::now();
            self.stdin.write_all(line.as_bytes())?;
            self.stdout.read_line(&mut answer)?;
            times.push(start.elapsed());
            assert!(answer.contains("a small answer"), "{answer}");
        }
        Ok(times)
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.stdin);
        assert!(self.process.wait()?.success());
        Ok(())
    }
}

/// A server that answers every request alike.
fn echo() -> io::Result<()> {
    let mut output = io::stdout();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let id = line.split_once("\"id\":").and_then(|(_, rest)| rest.split_once(','));
        let id = id.map_or("null", |(id, _)| id);
        let text = r#"{"content":[{"type":"text","text":"a small answer"}]}"#;
        output.write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{text}}}\n").as_bytes())?;
        output.flush()?;
    }
    Ok(())
}
