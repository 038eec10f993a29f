//! Tests of the relay with processors that do more than forward messages.
#![cfg(target_os = "linux")]

use std::fmt::Display;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use portion_mcp::frame::{Frame, FrameReader};
use portion_mcp::front::{ShutdownDeadline, ShutdownSignals, StdioFront};
use portion_mcp::message_processor::{MessageProcessor, OutgoingMessage};
use portion_mcp::relay::relay;
use portion_mcp::upstream::stdio::{Child, Program};
use tokio::sync::Semaphore;

const LIMIT: usize = 1 << 20;

/// Runs `python3 -c SCRIPT` behind the processor; `client` writes the input of the client, which then ends.
fn run<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    script: &str,
    client: impl FnOnce(PipeWriter),
) -> (String, u8) {
    let (client_stdin, input) = pipe_pair();
    let (client_stdout, output) = pipe_pair();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    client(input);
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        { client_stdout }.read_to_string(&mut text).expect("UTF-8");
        text
    });
    let exit = runtime.block_on(async {
        let client_stdin: Box<dyn Read + Send> = Box::new(client_stdin);
        let front = StdioFront {
            input: FrameReader::new(client_stdin, LIMIT),
            output: Box::new(output),
            signals: ShutdownSignals::listen().expect("handlers"),
            shutdown_deadline: ShutdownDeadline::default(),
        };
        let child = Child::spawn(&Program::new("python3", ["-c", script]), LIMIT).expect("starts");
        relay(processor, child, front).await
    });
    (reader.join().expect("no panic"), exit.code)
}

fn pipe_pair() -> (PipeReader, PipeWriter) {
    pipe().expect("a pipe")
}

/// Sends a response to the server for each of its messages.
struct Replier;

impl MessageProcessor for Replier {
    type ClientMessage = Frame;

    fn parse_client_frame(&self, frame: Frame) -> Frame {
        frame
    }

    async fn process_client_message(&self, _: Frame) -> Vec<OutgoingMessage> {
        Vec::new()
    }

    async fn process_server_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(message) if message.starts_with(b"done") => {
                vec![OutgoingMessage::ToClient(message)]
            }
            Frame::Message(message) => vec![OutgoingMessage::ToServer(message)],
            Frame::TooLarge(_) => Vec::new(),
        }
    }

    fn on_server_gone(&self, _: &dyn Display) -> Vec<OutgoingMessage> {
        Vec::new()
    }

    fn pending_count(&self) -> usize {
        0
    }
}

#[test]
fn a_server_that_does_not_read_while_it_writes_causes_no_deadlock() {
    let mut kept_input = None;
    let script = r"
import sys
for n in range(400): print('x' * 20000)
sys.stdout.flush()
print('done', sum(len(sys.stdin.readline()) for n in range(400)))
";
    // The client sends nothing and stays until the server exits.
    let (output, exit) = run(Arc::new(Replier), script, |input| kept_input = Some(input));
    assert_eq!((output.as_str(), exit), ("done 8000400\n", 0));
}

/// Holds the client's messages until the first message of the server.
#[derive(Default)]
struct HoldingProcessor {
    met: AtomicBool,
    held: Mutex<Vec<Vec<u8>>>,
    pending: AtomicUsize,
    /// Dropped when the relay asks for held messages, which it does after the client has left.
    client_stays: Mutex<Option<Sender<()>>>,
}

impl MessageProcessor for HoldingProcessor {
    type ClientMessage = Frame;

    fn parse_client_frame(&self, frame: Frame) -> Frame {
        frame
    }

    async fn process_client_message(&self, frame: Frame) -> Vec<OutgoingMessage> {
        let Frame::Message(message) = frame else { return Vec::new() };
        self.pending.fetch_add(1, Ordering::SeqCst);
        let mut held = self.held.lock().expect("no panic");
        if self.met.load(Ordering::SeqCst) {
            return vec![OutgoingMessage::ToServer(message)];
        }
        held.push(message);
        Vec::new()
    }

    async fn process_server_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        let Frame::Message(message) = frame else { return Vec::new() };
        let mut held = self.held.lock().expect("no panic");
        if !self.met.swap(true, Ordering::SeqCst) {
            return held.drain(..).map(OutgoingMessage::ToServer).collect();
        }
        self.pending.fetch_sub(1, Ordering::SeqCst);
        vec![OutgoingMessage::ToClient(message)]
    }

    fn on_server_gone(&self, how: &dyn Display) -> Vec<OutgoingMessage> {
        let pending = self.pending.swap(0, Ordering::SeqCst);
        (0..pending).map(|_| OutgoingMessage::ToClient(how.to_string().into_bytes())).collect()
    }

    fn pending_count(&self) -> usize {
        self.pending.load(Ordering::SeqCst)
    }

    fn has_held_messages(&self) -> bool {
        self.client_stays.lock().expect("no panic").take();
        !self.held.lock().expect("no panic").is_empty()
    }
}

#[test]
fn held_messages_reach_the_server_after_the_client_has_left() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let script = format!(
        r"
import socket, sys
socket.create_connection(('127.0.0.1', {port})).recv(1)
print('hello', flush=True)
for line in sys.stdin: print('got', line.strip(), flush=True)
sys.exit(9)
"
    );
    let (client_stays, client_left) = channel::<()>();
    // The server waits until its connection ends.
    std::thread::spawn(move || {
        let connection = listener.accept();
        client_left.recv().expect_err("nothing is sent");
        drop(connection);
    });
    let processor =
        HoldingProcessor { client_stays: Mutex::new(Some(client_stays)), ..HoldingProcessor::default() };
    let (output, exit) = run(Arc::new(processor), &script, |mut input| {
        input.write_all(b"one\ntwo\n").expect("a pipe holds that");
    });
    assert_eq!((output.as_str(), exit), ("got one\ngot two\n", 9));
}

#[test]
fn held_requests_are_answered_if_the_server_sends_nothing() {
    let (output, exit) = run(Arc::new(HoldingProcessor::default()), "raise SystemExit(2)", |mut input| {
        input.write_all(b"one\n").expect("a pipe holds that");
    });
    assert_eq!((output.as_str(), exit), ("the server `python3` exited with code 2\n", 2));
}

/// Answers `slow` messages after a later message has arrived.
struct DeferringProcessor {
    arrived: Semaphore,
}

impl MessageProcessor for DeferringProcessor {
    type ClientMessage = Frame;

    fn parse_client_frame(&self, frame: Frame) -> Frame {
        frame
    }

    async fn process_client_message(&self, frame: Frame) -> Vec<OutgoingMessage> {
        let Frame::Message(message) = frame else { return Vec::new() };
        if message == b"slow" {
            self.arrived.acquire().await.expect("it is never closed").forget();
            return vec![OutgoingMessage::ToClient(message)];
        }
        self.arrived.add_permits(1);
        vec![OutgoingMessage::ToServer(message)]
    }

    fn is_deferred(&self, frame: &Frame) -> bool {
        matches!(frame, Frame::Message(message) if message == b"slow")
    }

    fn reject_overload(&self, _: &Frame) -> Vec<OutgoingMessage> {
        vec![OutgoingMessage::ToClient(b"refused".to_vec())]
    }

    async fn process_server_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        let Frame::Message(message) = frame else { return Vec::new() };
        vec![OutgoingMessage::ToClient(message)]
    }

    fn on_server_gone(&self, _: &dyn Display) -> Vec<OutgoingMessage> {
        Vec::new()
    }

    fn pending_count(&self) -> usize {
        0
    }
}

#[test]
fn deferred_messages_delay_no_others_and_are_answered_after_the_client_has_left() {
    let script = "import sys\nfor line in sys.stdin: print('got', line.strip(), flush=True)";
    let (output, exit) =
        run(Arc::new(DeferringProcessor { arrived: Semaphore::new(0) }), script, |mut input| {
            input.write_all(b"slow\nslow\none\ntwo\n").expect("a pipe holds that");
        });
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!((lines.as_slice(), exit), (["got one", "got two", "slow", "slow"].as_slice(), 0));
}

#[test]
fn the_reader_never_processes_deferred_messages_itself() {
    let script = "import sys\nfor line in sys.stdin: print('got', line.strip(), flush=True)";
    let (output, exit) =
        run(Arc::new(DeferringProcessor { arrived: Semaphore::new(0) }), script, |mut input| {
            // Forty messages wait for a later one.
            let line = |n: usize| format!("{n}\n");
            let later: String = (0..40).map(line).collect();
            input.write_all("slow\n".repeat(40).as_bytes()).expect("a pipe holds that");
            input.write_all(later.as_bytes()).expect("a pipe holds that");
        });
    let slow = output.lines().filter(|line| *line == "slow").count();
    let got: Vec<&str> = output.lines().filter(|line| line.starts_with("got")).collect();
    assert_eq!((slow, got.len(), got[0], exit), (40, 40, "got 0", 0));
}

#[test]
fn deferred_messages_are_rejected_if_too_many_are_queued() {
    let script = "import sys\nfor line in sys.stdin: print('got', line.strip(), flush=True)";
    let (output, _) =
        run(Arc::new(DeferringProcessor { arrived: Semaphore::new(0) }), script, |mut input| {
            input.write_all("slow\n".repeat(100).as_bytes()).expect("a pipe holds that");
            input.write_all("x\n".repeat(100).as_bytes()).expect("a pipe holds that");
        });
    let count = |expected: &str| output.lines().filter(|line| *line == expected).count();
    assert_eq!(count("slow") + count("refused"), 100, "each has one answer");
    assert!((30..=40).contains(&count("refused")), "{}", count("refused"));
    assert_eq!(count("got x"), 100);
}

/// Panics at the first message of the server.
struct PanickingProcessor;

impl MessageProcessor for PanickingProcessor {
    type ClientMessage = Frame;

    fn parse_client_frame(&self, frame: Frame) -> Frame {
        frame
    }

    async fn process_client_message(&self, _: Frame) -> Vec<OutgoingMessage> {
        Vec::new()
    }

    async fn process_server_frame(&self, _: Frame) -> Vec<OutgoingMessage> {
        panic!("a test of what follows");
    }

    fn on_server_gone(&self, _: &dyn Display) -> Vec<OutgoingMessage> {
        vec![OutgoingMessage::ToClient(b"gone".to_vec())]
    }

    fn pending_count(&self) -> usize {
        0
    }
}

#[test]
fn a_panicking_processor_ends_the_session() {
    let mut kept_input = None;
    let script = "print('x', flush=True); input()";
    let (output, _) = run(Arc::new(PanickingProcessor), script, |input| kept_input = Some(input));
    assert_eq!(output, "gone\n");
}
