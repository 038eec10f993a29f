//! Link to a child process: messages are lines on its stdin and stdout.
//!
//! | closed by | then |
//! | --- | --- |
//! | the holder of the link | the server's stdin is closed; after a second it gets SIGTERM, then SIGKILL |
//! | the server, or one of its pipes | its remaining messages are forwarded, then the reason of the end |

use std::io;
use std::process::ChildStdin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

#[cfg(unix)]
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{CloseReason, ConnectError, ConnectFuture, Connector, Link, LinkEvent, LinkTransport};
use crate::frame::{FrameReader, replace_line_breaks};
use crate::once::OneShotFlag;
use crate::upstream::stdio::{Child, Program, ServerOutput};

/// Time for a server to exit once its stdin is closed, and then once it got SIGTERM: in sum less than the two seconds
/// within which the whole process must end.
const EXIT_GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(700);
/// Time for a server that closed a pipe to exit by itself, so that its exit code can be reported.
const EXIT_CODE_GRACE: Duration = Duration::from_millis(200);
/// Longest wait for the end of stdout after the server has ended: its descendants may hold the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);
/// Bytes read at once; small, because there are many links and most are idle.
const READ_CHUNK: usize = 16 << 10;
/// Stack of a thread that reads or writes a pipe.
const STACK_BYTES: usize = 256 << 10;

/// Starts a server process for each link.
#[derive(Clone)]
pub struct ChildConnector {
    /// Program of the server.
    pub program: Program,
    /// Largest message accepted, in bytes.
    pub message_limit: usize,
}

/// State of the pipes, set by their reader and writer.
#[derive(Default)]
struct PipeState {
    /// All outboxes were dropped, and the server's stdin is closed.
    input_closed: OneShotFlag,
    /// The server has closed its stdin.
    input_broken: OneShotFlag,
    /// The server's stdout has ended.
    output_ended: OneShotFlag,
}

impl Connector for ChildConnector {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(async {
            let Self { program, message_limit } = self.clone();
            let start = move || Child::spawn(&program, message_limit);
            let started =
                tokio::task::spawn_blocking(start).await.map_err(|error| ConnectError(error.to_string()))?;
            let child = started.map_err(|error| ConnectError(error.to_string()))?;
            attach(child).map_err(|error| ConnectError(format!("cannot watch the server: {error}")))
        })
    }
}

fn attach(mut child: Child) -> io::Result<Link> {
    let (link, LinkTransport { outgoing, incoming }) = Link::new();
    let pipes = Arc::new(PipeState::default());
    if let Some(stdin) = child.take_stdin() {
        spawn_writer(outgoing, stdin, Arc::clone(&pipes))?;
    }
    if let Some(output) = child.take_output() {
        let (pipes, incoming) = (Arc::clone(&pipes), incoming.clone());
        thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || read_output(output, &incoming, &pipes))?;
    }
    tokio::spawn(supervise(child, pipes, incoming));
    Ok(link)
}

/// Writes messages to the server, in a task: there are many links, and a task takes less memory than a thread.
#[cfg(unix)]
fn spawn_writer(
    mut outgoing: mpsc::Receiver<Vec<u8>>,
    stdin: ChildStdin,
    pipes: Arc<PipeState>,
) -> io::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let mut stdin = pipe::Sender::from_owned_fd(stdin.into())?;
    tokio::spawn(async move {
        while let Some(message) = outgoing.recv().await {
            if stdin.write_all(&into_line(message)).await.is_err() {
                pipes.input_broken.set();
                return;
            }
        }
        drop(stdin);
        pipes.input_closed.set();
    });
    Ok(())
}

#[cfg(not(unix))]
fn spawn_writer(
    mut outgoing: mpsc::Receiver<Vec<u8>>,
    mut stdin: ChildStdin,
    pipes: Arc<PipeState>,
) -> io::Result<()> {
    use std::io::Write;
    let write = move || {
        while let Some(message) = outgoing.blocking_recv() {
            if stdin.write_all(&into_line(message)).and_then(|()| stdin.flush()).is_err() {
                pipes.input_broken.set();
                return;
            }
        }
        drop(stdin);
        pipes.input_closed.set();
    };
    thread::Builder::new().stack_size(STACK_BYTES).spawn(write).map(drop)
}

fn read_output(output: FrameReader<ServerOutput>, incoming: &mpsc::Sender<LinkEvent>, pipes: &PipeState) {
    // A read error is handled as the end of the stream.
    for frame in output.with_read_chunk(READ_CHUNK).map_while(Result::ok) {
        if incoming.blocking_send(LinkEvent::Frame(frame)).is_err() {
            break;
        }
    }
    pipes.output_ended.set();
}

async fn supervise(mut child: Child, pipes: Arc<PipeState>, incoming: mpsc::Sender<LinkEvent>) {
    let mut reason = tokio::select! {
        () = child.wait_exited() => None,
        () = pipes.input_closed.wait() => None,
        () = incoming.closed() => None,
        () = pipes.input_broken.wait() => Some("the server closed its input"),
        () = pipes.output_ended.wait() => Some("the server closed its output"),
    };
    if let Some(closed) = reason {
        if timeout(EXIT_CODE_GRACE, child.wait_exited()).await.is_ok() {
            reason = None;
        } else {
            let _ = incoming.send(LinkEvent::Closed(CloseReason::new(closed))).await;
        }
    }
    if timeout(EXIT_GRACE, child.wait_exited()).await.is_err() {
        child.stop(TERM_GRACE).await;
    }
    child.terminate();
    let _ = timeout(DRAIN_TIMEOUT, pipes.output_ended.wait()).await;
    let failure = child.failure().await;
    // Waits as long as the inbox is full, but not for a process that left the group and holds the pipe open.
    while timeout(DRAIN_TIMEOUT, pipes.output_ended.wait()).await.is_err() && incoming.capacity() == 0 {}
    if reason.is_none() {
        let _ = incoming.send(LinkEvent::Closed(CloseReason::from(&failure))).await;
    }
}

/// Turns a message into a line. Raw line breaks occur only between JSON tokens, where a space means the same.
fn into_line(mut message: Vec<u8>) -> Vec<u8> {
    replace_line_breaks(&mut message);
    message.push(b'\n');
    message
}

#[cfg(all(test, unix))]
mod tests {
    use super::{ChildConnector, Connector, Program, into_line};
    use crate::frame::Frame;
    use crate::upstream::link::{Link, LinkEvent};

    /// Checks the events of `sh -c SCRIPT` until it has ended. `input` is sent and the outbox dropped; `None` sends
    /// nothing and keeps the outbox.
    fn check(script: &str, input: Option<&[&str]>, expect: &[&str]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let connector = ChildConnector { program: Program::new("sh", ["-c", script]), message_limit: 1024 };
        let events = runtime.block_on(async {
            let Link { outbox, mut inbox } = connector.connect().await.expect("starts");
            for message in input.unwrap_or_default() {
                outbox.send(message.as_bytes().to_vec()).await.expect("it lives");
            }
            let kept_outbox = input.is_none().then_some(outbox);
            let mut events = Vec::new();
            while let Some(event) = inbox.next().await {
                events.push(match event {
                    LinkEvent::Frame(Frame::Message(line)) => String::from_utf8(line).expect("UTF-8"),
                    LinkEvent::Frame(Frame::TooLarge(dropped)) => format!("{} bytes", dropped.bytes),
                    LinkEvent::Closed(why) => why.to_string(),
                });
            }
            drop(kept_outbox);
            events
        });
        assert_eq!(events, expect, "{script}");
    }

    #[test]
    fn lines_are_carried_and_the_exit_is_reported() {
        let input = ["{\"a\":\n1}", "[2]\r"];
        check("cat; exit 3", Some(&input), &["{\"a\": 1}", "[2] ", "the server `sh` exited with code 3"]);
        check("echo 1; kill -9 $$", None, &["1", "the server `sh` was killed by signal 9"]);
        check("echo 1; exec sleep 100", Some(&[]), &["1", "the server `sh` was killed by signal 15"]);
        check("sleep 100 & echo 1; exit 4", None, &["1", "the server `sh` exited with code 4"]);
        check("echo 1; exec >&-; sleep 100", None, &["1", "the server closed its output"]);
        let reason = "the server `sh` exited with code 3\nIts stderr ended with:\nboom";
        check("echo boom >&2; exit 3", None, &[reason]);
        check("printf '%2000d' 1", None, &["2000 bytes", "the server `sh` exited with code 0"]);
    }

    #[test]
    fn an_error_of_starting_says_what_to_fix() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let connector =
            ChildConnector { program: Program::new("no-such-server", [""; 0]), message_limit: 1024 };
        let error = runtime.block_on(connector.connect()).expect_err("there is none").to_string();
        assert!(error.contains("`no-such-server`: not found on PATH"), "{error}");
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(into_line(b"{\r\n \"a\\n\":1}".to_vec()), b"{   \"a\\n\":1}\n");
    }
}
