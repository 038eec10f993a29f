//! Times of dashboard pages over a million records of thirty days: the real program, asked over HTTP.
//!
//! `cargo bench -p portion --bench dashboard`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portion_core::error_code::ErrorCode;
use portion_core::event::{
    EndpointKind, Event, Observer as _, Outcome, PayloadForm, RequestServed, ServedError,
};
use portion_core::render::StageName;
use portion_telemetry::recorder::{Recorder, Settings};

const RECORDS: u64 = 1_000_000;
const ENDPOINTS: u64 = 40;
/// Number of requests for each page.
const TIMES: usize = 7;
const MONTH: u64 = 30 * 24 * 3_600_000_000;

fn main() -> io::Result<()> {
    // Run as a test it has nothing to say.
    if std::env::args().nth(1).as_deref() == Some("--bench") { measure() } else { Ok(()) }
}

fn measure() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("telemetry.db");
    write(&file);
    let mut command = Command::new(env!("CARGO_BIN_EXE_portion"));
    command.args(["dashboard", "--listen", "127.0.0.1:0", "--telemetry"]).arg(&file);
    let mut process = Running(command.current_dir(folder.path()).stderr(Stdio::piped()).spawn()?);
    let said = process.0.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    let address = line.split("http://").nth(1).and_then(|url| url.split('/').next()).unwrap_or_default();
    println!("{:<46}{:>10}{:>10}{:>10}", format!("over {RECORDS} records"), "target", "median", "bytes");
    for path in [
        "/?since=30d",
        "/?since=7d",
        "/?since=24h",
        "/?since=1h",
        "/endpoints/tool/tool_7?since=30d",
        "/sessions?since=30d",
        "/requests?since=30d",
        "/requests?since=30d&outcome=expired",
        "/api/series?since=30d",
    ] {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..TIMES {
            let begun = Instant::now();
            bytes = get(address, path)?;
            times.push(begun.elapsed());
        }
        times.sort();
        println!("{path:<46}{:>10}{:>7} ms{bytes:>10}", "≤ 1 s", times[TIMES / 2].as_millis());
    }
    Ok(())
}

/// Ends the program with the bench.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks for a path: how many bytes the answer has.
fn get(address: &str, path: &str) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.starts_with(b"HTTP/1.1 200") {
        Ok(answer.len())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn write(file: &Path) {
    let settings = Settings { keep_for: Duration::MAX, keep_bytes: u64::MAX / 8, ..Settings::new(file) };
    let recorder = Recorder::start(settings);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
    for number in 0..RECORDS {
        while recorder.snapshot().queued > 4_000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        recorder
            .observe(Event::RequestServed(Arc::new(request(number, now - MONTH + MONTH / RECORDS * number))));
    }
    recorder.flush(Duration::from_mins(5));
}

fn request(number: u64, at: u64) -> RequestServed {
    // Knuth's multiplicative hashing: the same each time, and no two alike.
    let mixed = number.wrapping_mul(2_654_435_761) >> 7;
    let follow_up = number % 3 == 1;
    let expired = follow_up && mixed.is_multiple_of(211);
    RequestServed {
        request: u128::from(number),
        at,
        endpoint: Arc::from(format!("tool_{}", mixed % ENDPOINTS)),
        kind: EndpointKind::Tool,
        outcome: if expired { Outcome::Expired } else { Outcome::ALL[(mixed % 7) as usize] },
        error: expired.then_some(ServedError::Own(ErrorCode::CursorExpired)),
        follow_up,
        arguments: vec!["limit".to_owned()],
        origin: Some(number / 3),
        counter: "claude",
        estimated_tokens: Some(500 + mixed % 3_000),
        actual_tokens: mixed.is_multiple_of(100).then_some(500 + mixed % 3_100),
        original_tokens: Some(600 + mixed % 5_000),
        budget: Some(4_000),
        response_bytes: 8_000,
        original_bytes: 20_000,
        form: Some(PayloadForm::List),
        items: Some(20),
        total_items: Some(100),
        latency: Duration::from_micros(5_000 + mixed % 90_000),
        overhead: Duration::from_micros(300 + mixed % 4_000),
        stages: vec![StageName::Dense, StageName::Condense],
        session: number / 50,
        config: 1,
        ..RequestServed::default()
    }
}
