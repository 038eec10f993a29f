//! The real program in front of a server that answers every call alike, and clients of both.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Time limit of each step.
const TOO_LONG: Duration = Duration::from_secs(10);

/// The program, in front of a server.
pub(crate) struct Portion {
    pub(crate) process: Child,
    pub(crate) address: SocketAddr,
}

/// A client on one connection, in a session of its own.
pub(crate) struct Peer {
    stream: BufReader<TcpStream>,
    session: usize,
    id: usize,
}

impl Portion {
    /// Starts it with what `with` adds to its command line. What it logs goes to `log`.
    pub(crate) fn before(
        server: SocketAddr,
        with: impl FnOnce(&mut Command),
        mut log: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portion"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--url"]).arg(format!("http://{server}/mcp"));
        with(&mut command);
        let mut process = command.stderr(Stdio::piped()).spawn()?;
        let said = process.stderr.take().ok_or_else(|| io::Error::other("a piped stream is there once"))?;
        let (mut said, mut line, mut address) = (BufReader::new(said), String::new(), None);
        while address.is_none() {
            line.clear();
            if said.read_line(&mut line)? == 0 {
                return Err(io::Error::other("it ended before it listened"));
            }
            log.write_all(line.as_bytes())?;
            let url = line.split("listening on http://").nth(1).and_then(|url| url.split('/').next());
            address = url.and_then(|address| address.parse().ok());
        }
        thread::spawn(move || io::copy(&mut said, &mut log));
        address.map(|address| Self { process, address }).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr, session: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TOO_LONG))?;
        let mut peer = Self { stream: BufReader::new(stream), session, id: 0 };
        peer.post(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#)?;
        peer.post(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#)?;
        Ok(peer)
    }

    /// Calls the tool: the result, as it is written.
    pub(crate) fn call(&mut self) -> io::Result<String> {
        self.id += 1;
        let id = self.id;
        let answer = self.post(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\
             \"arguments\":{{\"message\":\"a small call\"}}}}}}"
        ))?;
        let result = answer.strip_prefix(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":"));
        match result.and_then(|result| result.strip_suffix('}')) {
            Some(result) => Ok(result.to_owned()),
            None => Err(io::Error::other(answer)),
        }
    }

    fn post(&mut self, body: &str) -> io::Result<String> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMcp-Session-Id: s{}\r\nContent-Length: {}\r\n\r\n",
            self.session,
            body.len()
        );
        self.stream.get_mut().write_all(format!("{head}{body}").as_bytes())?;
        let (head, body) = read(&mut self.stream)?;
        if head.starts_with("HTTP/1.1 200 ") { Ok(body) } else { Err(io::Error::other(head)) }
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

/// A server that has this result for every call, on threads of this process.
pub(crate) fn server(result: &'static str) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream, result));
        }
    });
    Ok(address)
}

fn serve(stream: TcpStream, result: &str) -> io::Result<()> {
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
            result
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
