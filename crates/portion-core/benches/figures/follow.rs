//! Times portions of a captured snapshot, which do not depend on the position or the size.

use portion_core::cursor::{CursorTarget, CursorToken, Keyring, Position, Scope};
use portion_core::policy::Policy;
use portion_core::render::{Context, FirstReply, Portion, first_reply, follow_up_reply};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, ResolvedRequest, resolve};
use portion_tokens::Tokenizer;

use crate::measure::{median_of, told};
use crate::samples::{log, payload, schools};
use crate::table::Table;

const RUNS: usize = 41;

/// The first reply to a plain call.
pub(crate) fn first_page(snapshot: &Snapshot) -> Option<Portion> {
    let policy = Policy::default();
    match with_context(&policy, |cx| first_reply(snapshot, &ResolvedRequest::for_plain_call(&policy), cx)) {
        FirstReply::Portion(portion) => Some(portion),
        FirstReply::Untouched { .. } => None,
    }
}

/// Pages at the beginning, in the middle and at the end, of payloads of three sizes.
pub(crate) fn pages(table: &mut Table) {
    for megabytes in [1, 12, 48] {
        let snapshot = capture(payload(schools(megabytes << 20)));
        let whole = first_page(&snapshot);
        let total = whole.as_ref().and_then(|page| total(page.notice())).unwrap_or_default();
        table.add(
            &format!("{megabytes} MB: first reply, {} tokens", whole.map_or(0, |p| p.tokens())),
            "",
            told(median_of(RUNS, || first_page(&snapshot))),
        );
        for (place, offset) in [("first", 0), ("middle", total / 2), ("last", total.saturating_sub(50))] {
            let request = Request { offset: Some(offset), ..Request::default() };
            time(table, &format!("{megabytes} MB: {place} page"), &snapshot, &request);
        }
        let fields = Some("ncessch,school_name,address.city,enrollment.member".to_owned());
        let request = Request { fields, offset: Some(total / 2), ..Request::default() };
        time(table, &format!("{megabytes} MB: middle page, four fields"), &snapshot, &request);
    }
}

/// Chunks and ranges of a long log, and raw bytes of a long list.
pub(crate) fn texts(table: &mut Table) {
    let text = log(50 << 20);
    let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let mut copies: Vec<String> = (0..5).map(|_| text.clone()).collect();
    let taken = median_of(5, || capture(payload(copies.pop().unwrap_or_default())));
    table.add("50 MB log: capture", "", told(taken));
    let snapshot = capture(payload(text));
    table.add("50 MB log: first reply", "", told(median_of(RUNS, || first_page(&snapshot))));
    for (place, line) in [("beginning", 0), ("middle", lines / 2), ("end", lines - 100)] {
        let request = Request { offset: Some(line), ..Request::default() };
        time(table, &format!("50 MB log: chunk at the {place}"), &snapshot, &request);
    }
    let tail = Request { start_line: Some(-50), ..Request::default() };
    time(table, "50 MB log: the last 50 lines", &snapshot, &tail);
    for (place, offset) in [("beginning", 0), ("middle", 25 << 20)] {
        let raw = Request { raw: true, offset: Some(offset), ..Request::default() };
        time(table, &format!("50 MB log: raw chunk at the {place}"), &snapshot, &raw);
    }
}

/// Adds what it takes to resolve and to render a request.
fn time(table: &mut Table, what: &str, snapshot: &Snapshot, request: &Request) {
    let policy = Policy::default();
    let Ok(resolved) = resolve(snapshot, None, request, &policy) else {
        table.add(what, "", "refused".into());
        return;
    };
    let portion = with_context(&policy, |cx| follow_up_reply(snapshot, &resolved, cx));
    let resolving = median_of(RUNS, || resolve(snapshot, None, request, &policy));
    let rendering = with_context(&policy, |cx| median_of(RUNS, || follow_up_reply(snapshot, &resolved, cx)));
    let what = format!("{what}, {} tokens", portion.tokens());
    table.add(&what, "", told(resolving + rendering));
}

/// Renders with the default limits and counter, cursors being signed.
pub(crate) fn with_context<T>(policy: &Policy, render: impl FnOnce(&Context<'_>) -> T) -> T {
    with(policy, Tokenizer::default(), render)
}

/// Renders with those limits and that counter.
pub(crate) fn with<T>(policy: &Policy, tokenizer: Tokenizer, render: impl FnOnce(&Context<'_>) -> T) -> T {
    let (keys, scope) = (Keyring::new(&[7; 32]), Scope::from_principal("bench"));
    let issue_cursor = |position: Position| -> Option<CursorToken> {
        Some(keys.sign(&CursorTarget { snapshot: [1; 6], view: [2; 5], position }, &scope))
    };
    let counter = tokenizer.counter();
    render(&Context {
        policy,
        counter,
        issue_cursor: &issue_cursor,
        read_call: "portion_read".into(),
        query_tool: None,
        read_uri: None,
    })
}

fn total(notice: &str) -> Option<u32> {
    let notice: serde_json::Value = serde_json::from_str(notice).ok()?;
    u32::try_from(notice.get("totalCount")?.as_u64()?).ok()
}
