//! Tests access tokens against an API that answers 403 to an invalid token, and accepts a token only after a second.
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_policy::tool_description::ToolDescription;
use portion_policy::upstream::UpstreamTarget;

use super::exchange::CallResult;
use super::{ClientCredentials, RestConnector, RestOptions};
use crate::openapi::Tool;

/// Tokens that were issued. Only the last one is valid.
#[derive(Default)]
struct Issued {
    count: usize,
    last: Option<(String, Instant)>,
}

impl Issued {
    /// Returns the status and the body of a response.
    fn answer(&mut self, request_line: &str, authorization: &str) -> (&'static str, String) {
        if request_line.starts_with("POST /token") {
            self.count += 1;
            let token = format!("token-{}", self.count);
            self.last = Some((token.clone(), Instant::now()));
            return ("200 OK", format!(r#"{{"access_token":"{token}","expires_in":15897600}}"#));
        }
        let is_valid = self.last.as_ref().is_some_and(|(token, at)| {
            authorization == format!("Bearer {token}") && at.elapsed() >= Duration::from_secs(1)
        });
        if is_valid { ("200 OK", "{}".into()) } else { ("403 Forbidden", r#"{"status":"fail"}"#.into()) }
    }
}

fn serve(stream: TcpStream, issued: &Mutex<Issued>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut request_line, mut authorization, mut length) = (String::new(), String::new(), 0);
    stream.read_line(&mut request_line)?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                value.clone_into(&mut authorization);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().expect("a length");
            }
            Some(_) => {}
            None => break,
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    let (status, body) = issued.lock().answer(&request_line, &authorization);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.get_mut().write_all(format!("{head}{body}").as_bytes())?;
    Ok(())
}

#[tokio::test]
async fn a_new_token_is_sent_again_and_a_forbidden_one_is_renewed_once_a_minute() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let issued = Arc::new(Mutex::new(Issued::default()));
    let served = Arc::clone(&issued);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let issued = Arc::clone(&served);
            thread::spawn(move || serve(stream, &issued));
        }
    });
    let description = ToolDescription { name: "get".into(), ..ToolDescription::default() };
    let tool = Tool::from_description(&description, &[]).expect("valid");
    let target = |path: &str| UpstreamTarget::new(&format!("{url}{path}")).expect("a URL");
    let connector = RestConnector::new(RestOptions {
        target: target("/"),
        tools: vec![tool.clone()],
        oauth: Some(ClientCredentials {
            token_url: target("/token"),
            client_id: "id".into(),
            client_secret: "secret".into(),
            scope: None,
        }),
        timeout: Duration::from_secs(30),
        max_response_bytes: 1 << 20,
        title: "API".into(),
        version: "1".into(),
    })
    .expect("no TLS");
    let outcome = async || match connector.api.call(&tool, "{}").await {
        CallResult::Content { blocks, is_error, .. } => {
            (is_error, blocks.concat().contains("403"), issued.lock().count)
        }
        CallResult::TooLarge(_) => panic!("too large"),
    };
    let revoke = || issued.lock().last = None;
    assert_eq!(outcome().await, (false, false, 1));
    revoke();
    assert_eq!(outcome().await, (false, false, 2));
    revoke();
    assert_eq!(outcome().await, (true, true, 2));
}
