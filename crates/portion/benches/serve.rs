//! What `portion serve` adds to a small tool call over HTTP, what a session costs that does nothing, and whether
//! hundreds of sessions at once are served without an error: the real program in front of a server that only echoes,
//! against the same server called directly, in turns, so that the figures come from one machine at one moment.
//!
//! `cargo bench -p portion --bench serve`
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
    let server = echo()?;
    let portion = Portion::before(server)?;
    let (mut direct, mut through) = (Peer::connect(server, 0)?, Peer::connect(portion.address, 0)?);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let times = [direct.calls(TURN)?, through.calls(TURN)?];
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
    let before = portion.resident()?;
    let mut idle = Vec::with_capacity(SESSIONS);
    for n in 1..=SESSIONS {
        idle.push((Peer::connect(portion.address, n)?, Peer::listen(portion.address, n)?));
    }
    // What was only borrowed for the opening is given back.
    thread::sleep(Duration::from_secs(1));
    let each = portion.resident()?.saturating_sub(before) / SESSIONS;
    println!("{:<28}{:>10}{:>7} KiB", "memory of an idle session", "≤ 64 KiB", each >> 10);
    let errors = AtomicUsize::new(0);
    let start = Instant::now();
    thread::scope(|threads| {
        for (peer, _) in &mut idle {
            threads.spawn(|| {
                if peer.calls(CALLS).is_err() {
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

/// The program, in front of a server.
struct Portion {
    process: Child,
    address: SocketAddr,
}

impl Portion {
    fn before(server: SocketAddr) -> io::Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portion"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--url"]).arg(format!("http://{server}/mcp"));
        let mut process = command.stderr(Stdio::piped()).spawn()?;
        let said = process.stderr.take().ok_or_else(|| io::Error::other("a piped stream is there once"))?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let address = line.split("http://").nth(1).and_then(|url| url.split('/').next());
        let address =
            address.and_then(|address| address.parse().ok()).ok_or_else(|| io::Error::other(line))?;
        Ok(Self { process, address })
    }

    /// Its memory in bytes.
    fn resident(&self) -> io::Result<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
        kilobytes.map(|kilobytes| kilobytes << 10).ok_or_else(|| io::Error::other("no VmRSS"))
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client on one connection, in a session of its own.
struct Peer {
    stream: BufReader<TcpStream>,
    session: usize,
    id: usize,
}

impl Peer {
    fn connect(address: SocketAddr, session: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut peer = Self { stream: BufReader::new(stream), session, id: 0 };
        peer.post(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#)?;
        peer.post(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#)?;
        Ok(peer)
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

    fn calls(&mut self, count: usize) -> io::Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            self.id += 1;
            let id = self.id;
            let body = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\
                 \"arguments\":{{\"message\":\"a small call\"}}}}}}"
            );
            let start = Instant::now();
            let answer = self.post(&body)?;
            times.push(start.elapsed());
            let expected = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{ANSWER}}}");
            if answer != expected {
                return Err(io::Error::other(answer));
            }
        }
        Ok(times)
    }

    fn post(&mut self, body: &str) -> io::Result<String> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMcp-Session-Id: s{}\r\nContent-Length: {}\r\n\r\n",
            self.session,
            body.len()
        );
        self.stream.get_mut().write_all(format!("{head}{body}").as_bytes())?;
        read(&mut self.stream).map(|(_, body)| body)
    }
}

/// A message of HTTP: its head and its body.
fn read(stream: &mut BufReader<TcpStream>) -> io::Result<(String, String)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = head[start..].to_ascii_lowercase();
        if let Some(stated) = line.strip_prefix("content-length:") {
            length = stated.trim().parse().map_err(io::Error::other)?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}

/// A server that answers every request alike, on threads of this process.
fn echo() -> io::Result<SocketAddr> {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream));
        }
    });
    Ok(address)
}

fn serve(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let (head, body) = read(&mut stream)?;
        if head.starts_with("GET") {
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.get_mut().write_all(head.as_bytes())?;
            continue;
        }
        let id = body.split_once("\"id\":").and_then(|(_, rest)| rest.split_once(','));
        let id = id.map_or("null", |(id, _)| id);
        let result = if body.contains("tools/list") {
            r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#
        } else {
            ANSWER
        };
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}");
        let session = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {}\r\nContent-Length: {}\r\n\r\n",
            session.unwrap_or_default(),
            answer.len()
        );
        stream.get_mut().write_all(format!("{head}{answer}").as_bytes())?;
    }
}
