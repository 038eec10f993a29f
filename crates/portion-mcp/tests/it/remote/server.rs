//! A scripted server over HTTP/1.1.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::HANG;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Method and path of the request.
    pub(crate) line: String,
    head: String,
    pub(crate) body: String,
}

impl Asked {
    /// Returns the value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }

    pub(crate) fn is(&self, method: &str) -> bool {
        self.body.contains(&format!("\"method\":\"{method}\""))
    }
}

/// Writer of a response.
pub(crate) struct Reply(TcpStream);

impl Reply {
    /// Writes bytes; ignores that the client has disconnected.
    pub(crate) fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref());
    }

    /// Writes a whole response: status, header fields and body.
    pub(crate) fn whole(&mut self, head: &str, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        self.raw(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()));
        self.raw(body);
    }

    pub(crate) fn json(&mut self, body: &str) {
        self.whole("200 OK\r\nContent-Type: application/json; charset=utf-8", body);
    }

    /// Writes the head of a stream that ends with the connection.
    pub(crate) fn stream(&mut self) {
        self.raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    }

    pub(crate) fn event(&mut self, data: &str) {
        self.raw(format!("event: message\ndata: {data}\n\n"));
    }

    /// Waits until the client has closed the connection.
    pub(crate) fn closed(&mut self) {
        let _ = self.0.read(&mut [0; 1]);
    }

    /// Waits until the client has closed the connection, at most `limit`.
    pub(crate) fn closed_or(&mut self, limit: Duration) {
        let _ = self.0.set_read_timeout(Some(limit));
        self.closed();
    }

    /// Returns two handles of the same connection.
    pub(crate) fn halves(&self) -> (Self, Self) {
        let handle = || Self(self.0.try_clone().expect("a handle"));
        (handle(), handle())
    }

    /// Closes the connection.
    pub(crate) fn end(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Server that listens until the end of the test.
pub(crate) struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts a server; `answer` gets each request, and the number of requests before it.
    pub(crate) fn new(answer: impl Fn(&Asked, usize, &mut Reply) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let all = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, all) = (Arc::clone(&answer), Arc::clone(&all));
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
                    let mut reply = Reply(stream);
                    while let Some(asked) = read(&mut reader) {
                        let before = {
                            let mut all = all.lock().expect("no panic");
                            all.push(asked.clone());
                            all.len() - 1
                        };
                        answer(&asked, before, &mut reply);
                    }
                });
            }
        });
        Self { port, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns all requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }

    /// Returns the methods and paths of all requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    /// Waits until `count` requests have arrived.
    pub(crate) async fn has_heard(&self, count: usize) {
        let start = Instant::now();
        while self.asked().len() < count {
            assert!(start.elapsed() < HANG, "hangs: {:?}", self.lines());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Asked> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut head = String::new();
    while reader.read_line(&mut head).ok()? > 2 {}
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut asked = Asked { line, head, body: String::new() };
    let length = asked.field("content-length").map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).expect("UTF-8");
    Some(asked)
}

/// Answers the requests of every session: its beginning, its stream (there is none) and its end.
pub(crate) fn session(asked: &Asked, reply: &mut Reply, id: &str) -> bool {
    if asked.is("initialize") {
        let body = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
        reply.whole(&format!("200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {id}"), body);
    } else if asked.is("notifications/initialized") {
        reply.whole("202 Accepted", "");
    } else if asked.line.starts_with("GET") {
        reply.whole("405 Method Not Allowed", "");
    } else if asked.line.starts_with("DELETE") {
        reply.whole("204 No Content", "");
    } else {
        return false;
    }
    true
}
