//! Tests which requests reach the server, at which path, and with which credentials.

use super::peers::{Scene, json, say};
use super::{CALL, result};

const OPERATOR: &str = "X-Operator: operator-secret";

/// Returns a server at `/srv/mcp` that answers every request.
fn open_server() -> Scene {
    Scene::at("/srv/mcp", &[OPERATOR, "Authorization: Bearer operator-secret"], |request, stream| {
        let body = if request.body.is_empty() { "{}".to_owned() } else { result("7", 1) };
        say(stream, json(&body));
    })
}

/// Returns the response, and request line and header fields at the server if the request reached it.
fn ask(scene: &Scene, method: &str, target: &str) -> (String, Option<String>) {
    let before = scene.seen().len();
    let head = scene.ask(&format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")).0;
    let seen = scene.seen();
    assert!(seen.len() <= before + 1, "{target}: one request for one");
    (head, seen.get(before).map(|request| request.head.clone()))
}

#[test]
fn well_known_documents_are_requested_at_the_paths_of_the_server() {
    let scene = open_server();
    let check = |target: &str, expect: &str| {
        let (head, seen) = ask(&scene, "GET", target);
        assert!(head.starts_with("HTTP/1.1 200"), "{target}: {head}");
        let seen = seen.unwrap_or_else(|| panic!("{target} did not reach the server"));
        assert!(seen.starts_with(&format!("GET {expect} HTTP/1.1\r\n")), "{target}: {seen}");
        assert!(!seen.contains("operator"), "{target}: {seen}");
    };
    for name in ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"] {
        check(&format!("/.well-known/{name}"), &format!("/.well-known/{name}"));
        check(&format!("/.well-known/{name}/mcp"), &format!("/.well-known/{name}/srv/mcp"));
        check(&format!("/.well-known/{name}?a=b"), &format!("/.well-known/{name}?a=b"));
    }
    check("/mcp/.well-known/openid-configuration", "/srv/mcp/.well-known/openid-configuration");
}

#[test]
fn no_other_path_reaches_the_server() {
    let scene = open_server();
    let names = ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration", "x", ""];
    let tails = [
        "/../../admin/secret",
        "/%2e%2e/%2e%2e/admin/secret",
        "/%2E%2E%2f%2E%2E%2fadmin/secret",
        "/..%2f..%2fadmin",
        "/%252e%252e/%252e%252e/admin",
        "/..;/..;/admin",
        "/..\\..\\admin",
        "/%5c..%5c..%5cadmin",
        "/.%00./admin",
        "/%c0%ae%c0%ae/admin",
        "/./mcp",
        "//evil.example/x",
        "/%2fevil.example/x",
        "/mcp/../../admin",
        "/mcp/%2e%2e",
        "/mcp/",
        "/other",
        "/srv/mcp",
    ];
    let nested =
        names.iter().flat_map(|name| tails.iter().map(move |tail| format!("/.well-known/{name}{tail}")));
    let single = [
        "/.well-known/x",
        "/.well-known/",
        "/.well-known",
        "/.well-known/oauth-protected-resource%2fmcp",
        "/.well-known/oauth-protected-resource%",
        "/.well-known/OAUTH-PROTECTED-RESOURCE",
        "/.well-known/jwks.json",
        "/.well-known/change-password",
        "/.well-known%2foauth-protected-resource",
        "/%2ewell-known/oauth-protected-resource",
        "//.well-known/oauth-protected-resource",
        "/mcp/../.well-known/oauth-protected-resource",
        "/mcp/.well-known/oauth-protected-resource/../..",
        "/mcp/.well-known/x",
        "/mcp/.well-known/openid-configuration/..",
        "/admin/.well-known/openid-configuration",
        "/mcp/..",
        "/mcp/%2e%2e/admin",
        "/mcp/",
        "/mcp/x",
        "/mcp%2f..%2fadmin",
        "/mcp;x",
        "//mcp",
        "//evil.example/mcp",
        "/",
        "/admin",
        "/srv/mcp",
        "*",
    ];
    let mut asked = 0;
    for target in nested.chain(single.iter().map(|path| (*path).to_owned())) {
        for method in ["GET", "OPTIONS", "POST"] {
            let (head, seen) = ask(&scene, method, &target);
            assert_eq!(seen, None, "{method} {target}");
            assert!(head.starts_with("HTTP/1.1 4"), "{method} {target}: {head}");
            asked += 1;
        }
    }
    assert!(asked > 300, "{asked}");
    for method in ["POST", "PUT", "DELETE", "TRACE"] {
        assert_eq!(ask(&scene, method, "/.well-known/oauth-protected-resource").1, None, "{method}");
    }
}

#[test]
fn a_method_that_echoes_credentials_is_rejected() {
    let scene = open_server();
    for method in ["TRACE", "TRACK", "CONNECT", "trace"] {
        let (head, seen) = ask(&scene, method, "/mcp");
        assert!(seen.is_none() && head.starts_with("HTTP/1.1 4"), "{method}: {head}");
    }
    assert!(ask(&scene, "OPTIONS", "/mcp").1.is_some());
}

#[test]
fn preflights_are_answered_and_pages_may_read_responses() {
    let scene = open_server();
    let origin = "Origin: http://localhost:3000\r\n";
    let ask = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x\r\n\r\n";
    let preflight = format!("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n{origin}{ask}");
    let allowed = "access-control-allow-origin: http://localhost:3000";
    let (head, _) = scene.ask(&preflight);
    assert!(head.starts_with("HTTP/1.1 204") && head.contains(allowed), "{head}");
    let (head, _) = scene.ask(&preflight.replace("localhost:3000", "evil.example"));
    assert!(head.starts_with("HTTP/1.1 403") && !head.contains("access-control"), "{head}");
    assert!(scene.seen().is_empty());
    let (head, _) = scene.post(origin, CALL);
    assert!(
        head.contains(allowed) && head.contains("access-control-expose-headers: mcp-session-id"),
        "{head}"
    );
    let (head, _) = scene.post(origin, "no message");
    assert!(head.starts_with("HTTP/1.1 400") && head.contains(allowed), "{head}");
    assert!(!scene.post("", CALL).0.contains("access-control"));
}

#[test]
fn what_the_server_says_about_pages_stays() {
    let scene = Scene::new(|_, stream| {
        let allowed = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n";
        say(stream, json(&result("7", 1)).replace("HTTP/1.1 200 OK\r\n", allowed));
    });
    let (head, _) = scene.post("Origin: http://localhost:3000\r\n", CALL);
    assert!(head.contains("access-control-allow-origin: *"), "{head}");
    assert_eq!(head.matches("access-control").count(), 1, "{head}");
}

#[test]
fn fields_that_override_the_path_are_removed() {
    let scene = open_server();
    let lines = "X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\nX-HTTP-Method-Override: DELETE\r\n\
        X-HTTP-Method: DELETE\r\nX-Method-Override: DELETE\r\nX-Mine: 1\r\n";
    scene.post(lines, CALL);
    let seen = scene.seen().remove(0).head;
    assert!(seen.contains("x-mine: 1") && !seen.contains("admin") && !seen.contains("DELETE"), "{seen}");
    assert!(seen.contains("x-operator: operator-secret"), "{seen}");
}

#[test]
fn the_query_is_forwarded_except_for_parameters_of_the_operator() {
    let check = |url: &str, query: &str, expect: &str| {
        let scene = Scene::at(url, &[], |_, stream| say(stream, json(&result("7", 1))));
        let length = CALL.len();
        scene.ask(&format!(
            "POST /mcp{query} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{CALL}"
        ));
        let seen = scene.seen().remove(0).head;
        assert!(seen.starts_with(&format!("POST {expect} HTTP/1.1\r\n")), "{url} {query}: {seen}");
    };
    check("/mcp", "", "/mcp");
    check("/mcp", "?", "/mcp");
    check("/mcp", "?toolsets=a,b&x=%20&&y", "/mcp?toolsets=a,b&x=%20&&y");
    check("/mcp?key=k", "", "/mcp?key=k");
    check("/mcp?key=k", "?x=1", "/mcp?key=k&x=1");
    check("/mcp?key=k", "?x=1&key=evil&k%65y=evil&KEY=evil&key[]=evil&key.x=1", "/mcp?key=k&x=1");
    check("/mcp?key=k", "?x=1;key=evil&y=2", "/mcp?key=k&y=2");
    check("/mcp?key=k", "?key", "/mcp?key=k");
    check("/mcp?key=k", "?a=/../admin", "/mcp?key=k&a=/../admin");
}

#[test]
fn internal_requests_have_the_query_too() {
    let scene = Scene::at("/mcp", &[], |request, stream| {
        let id = request.body.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
        let tools = r#"{"tools":[{"name":"list_x","inputSchema":{"type":"object","properties":{"q":{}}}}]}"#;
        let listing = request.body.contains("tools/list");
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{tools}}}"#, id.unwrap_or("0"));
        say(stream, json(&if listing { body } else { result("7", 1) }));
    });
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_x","arguments":{"limit":2}}}"#;
    let length = call.len();
    scene
        .ask(&format!("POST /mcp?k=v HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{call}"));
    let seen = scene.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|request| request.head.starts_with("POST /mcp?k=v HTTP")), "{seen:?}");
}

#[test]
fn a_redirect_is_an_error_that_names_the_target() {
    let check = |status: &str, location: &str, expect: &str| {
        let fields =
            format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 2\r\n{location}\r\nno");
        let scene = Scene::at("/mcp", &[OPERATOR], move |_, stream| say(stream, &fields));
        let (head, body) = scene.post("", CALL);
        assert!(head.starts_with("HTTP/1.1 200"), "{status}: {head}");
        assert!(!head.contains("location"), "{status}: {head}");
        let answer = super::parsed(&body);
        let message = answer["error"]["message"].as_str().unwrap_or_default().to_owned()
            + &answer["result"].to_string();
        assert!(answer["id"] == 7 && message.contains(expect), "{status} {location}: {body}");
        assert!(!body.contains("token=secret"), "{body}");
        let path = "/.well-known/oauth-protected-resource/mcp";
        for (method, target) in [("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", path)] {
            let (head, body) = scene.ask(&format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            assert!(head.starts_with("HTTP/1.1 502") && !head.contains("location"), "{method}: {head}");
            assert!(body.contains(expect), "{method}: {body}");
        }
    };
    check("302 Found", "Location: https://evil.example/x?token=secret\r\n", "https://evil.example/x");
    check("301 Moved", "Location: /else?token=secret\r\n", "/else");
    check("303 See Other", "Location: //evil.example/y\r\n", "http://evil.example/y");
    check("307 Temporary Redirect", "Location: https://evil.example/mcp\r\n", "https://evil.example/mcp");
    check("308 Permanent Redirect", "Location: /admin\r\n", "/admin");
    check("300 Multiple Choices", "", "300");
}

#[test]
fn a_redirect_to_the_same_path_with_a_slash_is_followed() {
    let scene = Scene::at("/mcp", &[OPERATOR], |request, stream| {
        if request.head.contains(" /mcp/?k=v ") {
            say(stream, json(&result("7", 1)));
        } else {
            let moved = "HTTP/1.1 307 Temporary Redirect\r\nConnection: close\r\nContent-Length: 0\r\n";
            say(stream, format!("{moved}Location: /mcp/?k=v\r\n\r\n"));
        }
    });
    let length = CALL.len();
    let ask = || {
        let post = "POST /mcp?k=v HTTP/1.1\r\nHost: localhost\r\n";
        scene.ask(&format!("{post}Content-Length: {length}\r\n\r\n{CALL}")).1
    };
    assert_eq!(ask(), result("7", 1));
    assert_eq!(ask(), result("7", 1));
    let seen = scene.seen();
    assert_eq!(seen.len(), 3, "where it leads is remembered: {seen:?}");
    assert!(seen.iter().all(|request| request.body == CALL && request.head.contains("x-operator")));
}

#[test]
fn posts_must_be_json() {
    let scene = open_server();
    let status = |line: &str| scene.post(line, CALL).0[9..12].to_owned();
    for kind in
        ["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "application/jsonx"]
    {
        assert_eq!(status(&format!("Content-Type: {kind}\r\n")), "415", "{kind}");
    }
    assert_eq!(status("Content-Type: application/json\r\nContent-Type: text/plain\r\n"), "415");
    assert!(scene.seen().is_empty());
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        assert_eq!(status(&format!("Content-Type: {kind}\r\n")), "200", "{kind}");
    }
    assert_eq!(status(""), "200");
}
