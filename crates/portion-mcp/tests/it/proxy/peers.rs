//! A scripted server and a client, byte for byte, with the proxy between them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use portion_core::policy::Policy;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
use portion_gateway::rules::EndpointRules;
use portion_gateway::store::{self, MemoryStore};
use portion_mcp::front::http::{Backend, HttpLimits, HttpServer, OriginGuard};
use portion_mcp::mcp::McpProcessorFactory;
use portion_mcp::once::OneShotFlag;
use portion_mcp::proxy::Proxy;
use portion_mcp::upstream::http::HttpClient;
use portion_policy::endpoint::ListingOptions;
use portion_policy::upstream::UpstreamTarget;
use portion_tokens::Tokenizer;

/// Far longer than any step takes: reaching it means a hang.
const HANG: Duration = Duration::from_secs(30);
/// Largest message, in bytes.
pub(crate) const LIMIT: usize = 2 << 20;

/// A received request: header lines and body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A server and the proxy in front of it.
pub(crate) struct Scene {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    leave: Arc<OneShotFlag>,
    serving: Option<JoinHandle<()>>,
}

impl Scene {
    /// Starts a server that answers each request separately, then closes the connection.
    pub(crate) fn new(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::at("/mcp", &[], answer)
    }

    /// Starts such a server behind a proxy with other limits.
    pub(crate) fn within(
        limits: HttpLimits,
        answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        Self::made("/mcp", &[], limits, answer)
    }

    /// Starts a server at this path, to which the proxy sends these header fields of the operator.
    pub(crate) fn at(
        path: &str,
        headers: &[&str],
        answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        Self::made(path, headers, HttpLimits::default().with_max_body_bytes(LIMIT), answer)
    }

    fn made(
        path: &str,
        headers: &[&str],
        limits: HttpLimits,
        answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let upstream = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, all) = (Arc::new(answer), Arc::clone(&seen));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, all) = (Arc::clone(&answer), Arc::clone(&all));
                thread::spawn(move || {
                    let mut stream = stream.expect("a connection");
                    let Some(request) = read(&stream) else { return };
                    all.lock().expect("no panic").push(request.clone());
                    answer(&request, &mut stream);
                });
            }
        });
        Self::before(&format!("http://{upstream}{path}"), headers, seen, limits)
    }

    /// Starts a proxy whose server does not listen.
    pub(crate) fn deserted() -> Self {
        let address = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        let limits = HttpLimits::default().with_max_body_bytes(LIMIT);
        Self::before(&format!("http://{address}/mcp"), &[], Arc::default(), limits)
    }

    fn before(url: &str, headers: &[&str], seen: Arc<Mutex<Vec<Request>>>, limits: HttpLimits) -> Self {
        let store =
            MemoryStore::new(store::StoreLimits { memory_bytes: 64 << 20, ttl: Duration::from_mins(5) });
        let rules =
            EndpointRules::fixed(EffectivePolicy::new(Policy::default(), Tokenizer::Chars4.counter(), None));
        let parts = GatewayParts::new(rules, Arc::new(store), [7; 32]);
        let gateway = Arc::new(Gateway::new(parts));
        let processor_factory = McpProcessorFactory::new(gateway, ListingOptions::default(), LIMIT);
        let target = headers.iter().fold(UpstreamTarget::new(url).expect("a URL"), |target, line| {
            target.with_header(line).expect("a header")
        });
        let backend: Arc<dyn Backend> =
            Arc::new(Proxy::new(target, HttpClient::new(false).expect("no TLS"), processor_factory, None));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let guard = OriginGuard::new(address, vec![], vec![]);
        let principals = PrincipalResolver::new([9; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec());
        let server = HttpServer::new(guard, principals, limits, vec![("/mcp".into(), backend)]);
        let server = Arc::new(server.with_cors());
        let leave = Arc::new(OneShotFlag::default());
        let shutdown = Arc::clone(&leave);
        let serving = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                server.serve(listener, shutdown).await;
            });
        });
        Self { address, seen, leave, serving: Some(serving) }
    }

    /// Connects, sends these bytes, and returns the connection.
    pub(crate) fn says(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("the proxy listens");
        stream.set_read_timeout(Some(HANG)).expect("a socket");
        // A request that is too long is not read to its end.
        let _ = stream.write_all(bytes);
        stream
    }

    /// Posts a body with these header lines; returns head and body of the response.
    pub(crate) fn post(&self, lines: &str, body: &str) -> (String, String) {
        let length = body.len();
        self.ask(&format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Sends a request; returns head and body of the response, with `!` at the end if it was truncated.
    pub(crate) fn ask(&self, request: &str) -> (String, String) {
        let request = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        let mut all = Vec::new();
        self.says(request.as_bytes()).read_to_end(&mut all).expect("an end");
        answer(&all)
    }

    /// Starts the shutdown of the proxy.
    pub(crate) fn leave(&self) {
        self.leave.set();
    }

    /// Waits until the proxy has ended.
    pub(crate) fn ended(mut self) {
        if let Some(serving) = self.serving.take() {
            serving.join().expect("no panic");
        }
    }

    /// Returns the requests that reached the server.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("no panic").clone()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.leave.set();
    }
}

/// Writes all bytes.
pub(crate) fn say(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    // Fails if the client has disconnected, which some tests are about.
    let _ = stream.write_all(bytes.as_ref());
}

/// Returns a JSON response.
pub(crate) fn json(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Head of a stream of events, which ends with the connection.
pub(crate) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head += &line;
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Request { head, body: String::from_utf8_lossy(&body).into_owned() })
}

fn answer(all: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(all);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    if !head.contains("transfer-encoding: chunked") {
        return (head.to_owned(), body.to_owned());
    }
    let (mut rest, mut whole) = (body, String::new());
    loop {
        let Some((size, after)) = rest.split_once("\r\n") else { break whole += "!" };
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            break;
        }
        whole += &after[..size];
        rest = after[size..].strip_prefix("\r\n").unwrap_or_default();
    }
    (head.to_owned(), whole)
}
