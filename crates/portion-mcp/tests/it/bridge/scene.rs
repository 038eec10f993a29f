//! A bridge in front of a real server, with clients that check every byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use portion_core::policy::Policy;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
use portion_gateway::rules::EndpointRules;
use portion_gateway::store::{self, MemoryStore};
use portion_mcp::bridge::{Bridge, BridgeLimits};
use portion_mcp::front::http::{self, Backend, HttpServer, OriginGuard};
use portion_mcp::mcp::McpProcessorFactory;
use portion_mcp::once::OneShotFlag;
use portion_mcp::upstream::link::ChildConnector;
use portion_mcp::upstream::stdio::Program;
use portion_policy::endpoint::ListingOptions;
use portion_tokens::Tokenizer;
use serde_json::Value;

/// Far longer than any step takes: reaching it means a hang.
const HANG: Duration = Duration::from_secs(30);
/// Largest message, in bytes.
const LIMIT: usize = 2 << 20;

/// A bridge and its server.
pub(crate) struct Scene {
    address: SocketAddr,
    leave: Arc<OneShotFlag>,
    serving: Option<JoinHandle<()>>,
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Header lines, with names in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// An open stream of events.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    pub(crate) head: String,
    chunk: Vec<u8>,
}

impl Scene {
    /// Starts a bridge in front of the test server.
    pub(crate) fn new() -> Self {
        let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/bridge/server.py");
        Self::around("python3", &[server], BridgeLimits::default())
    }

    pub(crate) fn around(program: &str, args: &[&str], limits: BridgeLimits) -> Self {
        let store =
            MemoryStore::new(store::StoreLimits { memory_bytes: 64 << 20, ttl: Duration::from_mins(5) });
        let rules =
            EndpointRules::fixed(EffectivePolicy::new(Policy::default(), Tokenizer::Chars4.counter(), None));
        let gateway = Arc::new(Gateway::new(GatewayParts::new(rules, Arc::new(store), [7; 32])));
        let processor_factory = McpProcessorFactory::new(gateway, ListingOptions::default(), LIMIT);
        let connector = ChildConnector { program: Program::new(program, args), message_limit: LIMIT };
        let backend: Arc<dyn Backend> = Arc::new(Bridge::new(Arc::new(connector), processor_factory, limits));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let mut limits = http::HttpLimits::default().with_max_body_bytes(LIMIT);
        limits.connections.drain_timeout = Duration::ZERO;
        let principals = PrincipalResolver::new([9; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec());
        let server = HttpServer::new(
            OriginGuard::new(address, vec![], vec![]),
            principals,
            limits,
            vec![("/mcp".into(), backend)],
        );
        let leave = Arc::new(OneShotFlag::default());
        let shutdown = Arc::clone(&leave);
        let serving = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                Arc::new(server).serve(listener, shutdown).await;
            });
        });
        Self { address, leave, serving: Some(serving) }
    }

    /// Posts a body with these header lines.
    pub(crate) fn post(&self, lines: &str, body: &str) -> Answer {
        self.ask("POST", lines, body)
    }

    /// Sends a request and reads the whole response.
    pub(crate) fn ask(&self, method: &str, lines: &str, body: &str) -> Answer {
        let mut events = self.hear(method, lines, body);
        let (head, mut body) = (std::mem::take(&mut events.head), String::new());
        if head.contains("transfer-encoding: chunked") {
            while let Some(chunk) = events.chunk() {
                body += &String::from_utf8_lossy(&chunk);
            }
        } else {
            events.reader.read_to_string(&mut body).expect("an end");
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head, body }
    }

    /// Sends a request and returns its stream of events.
    pub(crate) fn hear(&self, method: &str, lines: &str, body: &str) -> Events {
        let length = body.len();
        let head = format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}");
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(HANG)).expect("a socket");
        stream
            .write_all(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes())
            .expect("it reads");
        let (mut reader, mut head) = (BufReader::new(stream), String::new());
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        Events { reader, head, chunk: Vec::new() }
    }

    /// Sends a request without waiting for the response.
    pub(crate) fn send(&self, lines: &str, body: &str) -> TcpStream {
        let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {}", body.len());
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).expect("it reads");
        stream
    }

    /// Begins a session, and returns its header line.
    pub(crate) fn begin(&self) -> String {
        let answer = self.post("", &request("1", "initialize", r#""protocolVersion":"2025-06-18""#));
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("an id");
        format!("Mcp-Session-Id: {id}\r\n")
    }

    /// Shuts the bridge down, and waits until its servers have ended.
    pub(crate) fn close(&mut self) {
        self.leave.set();
        if let Some(serving) = self.serving.take() {
            serving.join().expect("no panic");
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.leave.set();
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the data of its events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data =
            self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
        data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
    }
}

impl Events {
    /// Returns the lines of the next event; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<String> {
        loop {
            let event = String::from_utf8(self.chunk()?).expect("UTF-8");
            if !event.starts_with(':') {
                return Some(event);
            }
        }
    }

    /// Returns id and data of the next event.
    pub(crate) fn message(&mut self) -> (String, Value) {
        let event = self.next().expect("an event");
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        (field("id: ").to_owned(), serde_json::from_str(field("data: ")).expect("JSON"))
    }

    /// Returns the next chunk.
    fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut size = String::new();
        self.reader.read_line(&mut size).expect("a size");
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        self.chunk.resize(size + 2, 0);
        self.reader.read_exact(&mut self.chunk).expect("a chunk");
        (size > 0).then(|| self.chunk[..size].to_vec())
    }
}

/// Returns a request with these params, given without the braces.
pub(crate) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

/// Returns a request of 2026-07-28, and its header lines.
pub(crate) fn modern(id: &str, method: &str, params: &str) -> (String, String) {
    let meta = r#""_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = if params.is_empty() { meta.to_owned() } else { format!("{params},{meta}") };
    (format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n"), request(id, method, &params))
}

/// Returns true if a process exists, alive or not yet reaped.
pub(crate) fn runs(process: u64) -> bool {
    std::path::Path::new(&format!("/proc/{process}")).exists()
}
