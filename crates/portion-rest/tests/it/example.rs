//! The axum example, as a program.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The example, which ends with this value.
struct Example {
    process: Child,
    address: String,
}

impl Example {
    fn start() -> Self {
        let test = std::env::current_exe().expect("a path");
        let program = test.ancestors().nth(2).expect("a profile folder").join("examples/axum");
        let mut process =
            Command::new(program).arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
        Self { process, address }
    }

    /// Returns the head and the body of the response to a request for a target.
    fn get(&self, target: &str) -> (String, Value) {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        write!(stream, "GET {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address)
            .expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        (head.to_ascii_lowercase(), serde_json::from_str(body).expect("JSON"))
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn ids(body: &Value) -> Vec<u64> {
    let records = body["result"].as_array().expect("a list");
    records.iter().filter_map(|record| record["id"].as_u64()).collect()
}

#[test]
fn the_axum_example_serves_its_list_in_portions() {
    let example = Example::start();
    let (mut all, mut target) = (Vec::new(), Some("/bookings".to_owned()));
    while let Some(now) = target.take() {
        let (head, body) = example.get(&now);
        assert!(head.starts_with("http/1.1 200") && head.contains("x-total-count: 500"), "{now}: {head}");
        all.extend(ids(&body));
        assert!(all.len() <= 500, "{now}");
        target = body["nextCursor"].as_str().map(|cursor| format!("/bookings?cursor={cursor}"));
    }
    assert_eq!(all, (1..=500).collect::<Vec<u64>>());
    let (_, few) = example.get("/bookings?fields=id,status&limit=10");
    assert_eq!(ids(&few).len(), 10);
    assert_eq!(few["result"][0].as_object().map(serde_json::Map::len), Some(2));
}
