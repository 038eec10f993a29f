//! Golden files of what a model sees, one for each kind of reply.
//!
//! `BLESS=1 cargo test -p portion-core --test it golden` rewrites them; the difference is the review.

mod material;
mod render_options;

use std::fmt::Write as _;
use std::path::Path;

use portion_core::cursor::{CursorTarget, CursorToken, Keyring, Position, Scope};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::{NamedSection, Policy, RenderOptions, RowStyle};
use portion_core::ranking::rank;
use portion_core::render::{Context, PieceBody, Portion, follow_up_reply, view_with_pagination};
use portion_core::render::{FirstReply, first_reply};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, ResolvedRequest, resolve};
use portion_tokens::Tokenizer;

use material::{booking, bookings, log, paper, rental, results};

/// Compares the first reply to a call, and the next one, with the file of that name.
fn check(name: &str, parts: &[(&str, Content)], controls: &[(&str, &str)]) {
    check_under(name, parts, controls, &Policy::default());
}

fn check_under(name: &str, parts: &[(&str, Content)], controls: &[(&str, &str)], policy: &Policy) {
    let block = |(address, content): &(&str, Content)| Block::new(*address, content.clone());
    let blocks = parts.iter().map(block).collect();
    let items = policy.render_options.list_path.clone();
    let snapshot = capture(Payload { blocks, list_path: items, ..Payload::default() });
    let mut request = Request::default();
    let mut transcript = String::from("call");
    for (control, json) in controls {
        request.set_control(control, json, policy).expect("a control");
        let _ = write!(transcript, " {control}={json}");
    }
    transcript.push('\n');
    let resolved = resolve(&snapshot, None, &request, policy).expect("it is there");
    let resolved = rank(&snapshot, resolved, policy, Tokenizer::Chars4.counter());
    match render(&snapshot, &resolved, policy, first_reply) {
        FirstReply::Untouched { .. } => transcript.push_str("untouched\n"),
        FirstReply::Portion(portion) => {
            show(&portion, &mut transcript);
            if let Some(next) = next(&portion) {
                let view = view_with_pagination(resolved.view, &portion);
                let resolved = resolve(&snapshot, Some((&view, next)), &Request::default(), policy);
                transcript.push_str("\ncall cursor=nextCursor\n");
                let portion = render(&snapshot, &resolved.expect("it goes on"), policy, follow_up_reply);
                show(&portion, &mut transcript);
            }
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &transcript).expect("the file can be written");
    }
    let expect = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        transcript == expect,
        "{} differs; BLESS=1 writes it anew. It would be:\n{transcript}",
        file.display()
    );
}

fn keyring() -> Keyring {
    Keyring::new(&[0; 32])
}

fn render<T>(
    snapshot: &Snapshot,
    resolved: &ResolvedRequest,
    policy: &Policy,
    render: impl Fn(&Snapshot, &ResolvedRequest, &Context<'_>) -> T,
) -> T {
    let mint = |position: Position| -> Option<CursorToken> {
        let pointer = CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position };
        Some(keyring().sign(&pointer, &Scope::from_principal("golden")))
    };
    // Counts by length, because the cost of a cursor must not depend on its content.
    let counter = Tokenizer::Chars4.counter();
    render(
        snapshot,
        resolved,
        &Context {
            policy,
            counter,
            issue_cursor: &mint,
            read_call: "portion_read".into(),
            query_tool: None,
            read_uri: None,
        },
    )
}

fn next(portion: &Portion) -> Option<Position> {
    let token = portion.next_cursor()?;
    keyring().verify(token.as_str(), &Scope::from_principal("golden")).ok().map(|pointer| pointer.position)
}

/// Writes a reply with long texts cut in the middle and cursors as positions.
fn show(portion: &Portion, out: &mut String) {
    for piece in portion.pieces() {
        let text = match portion.separate_notice() {
            Some(_) => piece.body.as_str().to_owned(),
            None => without_cursors(piece.body.as_str()),
        };
        let _ = writeln!(out, "--- {}\n{}", piece.address, middle_out(&text));
    }
    if let Some(structured) = portion.structured() {
        let _ = writeln!(out, "--- structuredContent\n{}", middle_out(&without_cursors(structured)));
    }
    let notice: serde_json::Value = serde_json::from_str(&without_cursors(portion.notice())).expect("JSON");
    let pretty = serde_json::to_string_pretty(&notice).expect("JSON");
    if let Some(text) = portion.separate_notice() {
        let _ = writeln!(out, "--- notice in text\n{}", without_cursors(text));
    }
    let _ = writeln!(out, "--- notice in _meta ({} tokens in all)\n{pretty}", portion.tokens());
}

fn middle_out(text: &str) -> String {
    const SHOWN: usize = 900;
    if text.len() <= 2 * SHOWN {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(SHOWN), text.ceil_char_boundary(text.len() - SHOWN));
    format!("{}\n⋮ {} bytes ⋮\n{}", &text[..head], tail - head, &text[tail..])
}

/// Replaces the cursors of a reply by their positions.
fn without_cursors(json: &str) -> String {
    let mut out = String::new();
    for (i, part) in json.split('"').enumerate() {
        out.push_str(if i > 0 { "\"" } else { "" });
        match keyring().verify(part, &Scope::from_principal("golden")) {
            Ok(pointer) => {
                let Position { part, ordinal, offset: place } = pointer.position;
                let _ = write!(out, "cursor: part {part}, after {ordinal}, {place:?}");
            }
            Err(_) => out.push_str(part),
        }
    }
    out
}

const TEXT: &str = "/content/0/text";

fn text(text: String) -> Content {
    Content::Text(text)
}

#[test]
fn page() {
    check("page", &[(TEXT, text(bookings(60)))], &[]);
}

#[test]
fn page_of_rows() {
    let policy = Policy { rows: RowStyle::Auto, ..Policy::default() };
    check_under("page_rows", &[(TEXT, text(bookings(60)))], &[], &policy);
}

#[test]
fn lean_page() {
    check_under("page_lean", &[(TEXT, text(bookings(60)))], &[], &Policy::default().lean());
}

#[test]
fn lean_twin() {
    let json = format!("{{\"result\":{}}}", bookings(60));
    let parts = [(TEXT, text(bookings(60))), ("/structuredContent", Content::Structured(json))];
    check_under("twin_lean", &parts, &[], &Policy::default().lean());
}

#[test]
fn page_of_fields() {
    check(
        "page_fields",
        &[(TEXT, text(bookings(60)))],
        &[("fields", "\"guest.name,status\""), ("limit", "2")],
    );
}

#[test]
fn summary() {
    check("summary", &[(TEXT, text(booking()))], &[]);
}

#[test]
fn section() {
    check("section", &[(TEXT, text(booking()))], &[("section", "\"financials\"")]);
}

/// Returns a policy for rentals, with their most important fields and named sections.
fn of_rentals() -> Policy {
    let strings = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let section =
        |name: &str, fields: &[&str]| NamedSection { name: name.to_owned(), fields: strings(fields) };
    let manner = RenderOptions {
        summary_fields: strings(&["internalCode", "maxGuests", "fees.name"]).into(),
        sections: [
            section("financial", &["price", "cleaningFee", "deposit", "fees"]),
            section("days", &["calendar"]),
        ]
        .into(),
        ..RenderOptions::default()
    };
    Policy { render_options: manner, ..Policy::default() }
}

#[test]
fn rental_summary() {
    check_under("rental_summary", &[(TEXT, text(rental()))], &[], &of_rentals());
}

#[test]
fn rental_section() {
    let controls = [("section", "\"financial\"")];
    check_under("rental_section", &[(TEXT, text(rental()))], &controls, &of_rentals());
}

#[test]
fn results_in_order() {
    let manner = RenderOptions {
        list_path: Some("data.results".into()),
        default_sort: Some("created desc".into()),
        ..RenderOptions::default()
    };
    let policy = Policy { render_options: manner, ..Policy::default() };
    check_under("results_in_order", &[(TEXT, text(results(80)))], &[], &policy);
}

#[test]
fn chunk() {
    check("chunk", &[(TEXT, text(log(10_000)))], &[]);
}

#[test]
fn range() {
    check("range", &[(TEXT, text(log(10_000)))], &[("startLine", "-3")]);
}

#[test]
fn document() {
    check("document", &[(TEXT, text(paper()))], &[("section", "\"Method\"")]);
}

#[test]
fn raw() {
    check("raw", &[(TEXT, text(booking()))], &[("raw", "true"), ("path", "\"/guest\"")]);
}

#[test]
fn whole() {
    check("whole", &[(TEXT, text(bookings(3)))], &[("fields", "\"all\"")]);
}

#[test]
fn small() {
    check("small", &[(TEXT, text(bookings(3)))], &[]);
}

#[test]
fn parts() {
    let link = Content::Atomic { json: "{\"type\":\"resource_link\",\"uri\":\"a:b\"}".into(), binary: None };
    let parts = [
        (TEXT, text("Found 60 bookings and a log.".into())),
        ("/content/1/text", text(bookings(60))),
        ("/content/2", link),
        ("/content/3/text", text(log(300))),
    ];
    check("parts", &parts, &[]);
}

#[test]
fn twin() {
    let json = format!("{{\"result\":{}}}", bookings(60));
    check("twin", &[(TEXT, text(bookings(60))), ("/structuredContent", Content::Structured(json))], &[]);
}

/// Acceptance criteria of V2, independent of the golden files.
#[test]
fn a_booking_is_summarized() {
    let snapshot = capture(Payload { blocks: vec![Block::new(TEXT, text(booking()))], ..Payload::default() });
    let policy = Policy::default();
    let FirstReply::Portion(portion) =
        render(&snapshot, &ResolvedRequest::for_plain_call(&policy), &policy, first_reply)
    else {
        panic!("a booking of this size is summed up");
    };
    let PieceBody::Text(body) = &portion.pieces()[0].body else { panic!("text stays text") };
    let summary: serde_json::Value = serde_json::from_str(body).expect("JSON stays JSON");
    for field in ["id", "status", "guest", "dates", "property"] {
        assert!(summary.get(field).is_some(), "no {field} in {body}");
    }
    let notice: serde_json::Value = serde_json::from_str(portion.notice()).expect("JSON");
    assert!(notice["meta"]["detailsAvailable"]["sections"]["financials"].is_string(), "{notice}");

    let request = Request { section: Some("financials".into()), ..Request::default() };
    let resolved = resolve(&snapshot, Some((&asked_view(&policy), Position::default())), &request, &policy);
    let portion = render(&snapshot, &resolved.expect("it is there"), &policy, follow_up_reply);
    let PieceBody::Text(body) = &portion.pieces()[0].body else { panic!("text stays text") };
    let whole: serde_json::Value = serde_json::from_str(&booking()).expect("JSON");
    let section: serde_json::Value = serde_json::from_str(body).expect("JSON stays JSON");
    assert_eq!(section, whole["financials"]);
}

fn asked_view(policy: &Policy) -> portion_core::view::View {
    ResolvedRequest::for_plain_call(policy).view
}
