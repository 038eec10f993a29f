//! Logs of all shapes, charged with a known factor.

use portion_tokens::{Factor, Tokenizer};
use serde_json::{Value, json};

use super::{LogScan, to_json, to_text, tokenizer_for_model};

const OVERHEAD: f64 = 350.0;

/// Returns texts of different sizes, as tools return them.
fn text(n: usize) -> String {
    let rows = 1 + n * 37 % 101;
    let row = |i: usize| format!("{{\"id\":{i},\"name\":\"Room {}\",\"price\":{}.50}}", i * n, i * 7);
    (0..rows).map(row).collect::<Vec<_>>().join(",")
}

/// Returns the charge for a text under a factor.
fn charged(tokenizer: Tokenizer, n: usize, factor: f64) -> u64 {
    let count = tokenizer.reference_counter(Factor::ONE).count(&text(n)) as f64;
    let wobble = 1.0 + 0.02 * ((n * 13 % 11) as f64 - 5.0) / 5.0;
    (factor * wobble * count + OVERHEAD).round() as u64
}

/// Reads a log of `count` requests in a shape. Returns the factor and the report.
fn found(
    tokenizer: Tokenizer,
    factor: f64,
    shape: impl Fn(String, u64) -> Value,
    forced: bool,
) -> (f64, Value) {
    let entry = |n: usize| shape(text(n), charged(tokenizer, n, factor)).to_string();
    let log: Vec<String> = (0..60).map(entry).collect();
    let mut found = LogScan::default();
    found.read_log(log.join("\n").as_bytes(), "log", forced.then_some(tokenizer)).expect("readable");
    let mut array = LogScan::default();
    let text = format!("[{}]", log.join(",\n"));
    array.read_log(text.as_bytes(), "log", forced.then_some(tokenizer)).expect("readable");
    assert_eq!(to_json(&found), to_json(&array));
    let report = to_json(&found);
    let family = report["families"][0].clone();
    assert_eq!(report["unusable"], json!([]), "{report}");
    assert_eq!((&family["tokenizer"], &family["requests"]), (&json!(tokenizer.to_string()), &json!(60)));
    (family["tokenizerFactor"].as_f64().expect("advice"), family)
}

fn check(tokenizer: Tokenizer, factor: f64, shape: impl Fn(String, u64) -> Value) {
    let (fitted, family) = found(tokenizer, factor, shape, false);
    assert!((fitted / factor - 1.0).abs() < 0.02, "{factor}: {family}");
    assert!((family["overheadTokens"].as_f64().expect("overhead") - OVERHEAD).abs() < 40.0, "{family}");
    assert_eq!(family["nearAfter"], 1.0, "{family}");
}

#[test]
fn the_factor_is_found_in_logs_of_every_shape() {
    check(Tokenizer::Claude, 1.27, |text, tokens| {
        json!({"model": "claude-opus-5", "messages": [{"role": "user", "content": text}],
            "usage": {"input_tokens": tokens - 100, "cache_read_input_tokens": 100, "output_tokens": 9}})
    });
    check(Tokenizer::Claude, 0.8, |text, tokens| {
        let body = json!({"model": "claude-opus-5", "messages": [{"role": "user", "content":
            [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": text}]}]}]});
        json!({"request": {"body": body.to_string()}, "response": {"body": {"input_tokens": tokens}}})
    });
    check(Tokenizer::O200k, 1.1, |text, tokens| {
        json!({"request": {"model": "gpt-5-mini", "messages": [{"role": "tool", "content": text}]},
            "response": {"usage": {"prompt_tokens": tokens}}})
    });
    check(Tokenizer::O200k, 1.0, |text, tokens| {
        json!({"model": "o3", "input": [{"type": "function_call_output", "output": text}],
            "usage": {"input_tokens": tokens}})
    });
    check(
        Tokenizer::Cl100k,
        1.9,
        |text, tokens| json!({"model": "gpt-4-turbo", "text": text, "tokens": tokens}),
    );
}

#[test]
fn a_tokenizer_can_be_forced() {
    let (fitted, _) =
        found(Tokenizer::Auto, 1.4, |text, tokens| json!({"text": text, "tokens": tokens}), true);
    assert!((fitted / 1.4 - 1.0).abs() < 0.02, "{fitted}");
}

/// Returns the report of log lines.
fn report_of(lines: &[Value]) -> String {
    let log: Vec<String> = lines.iter().map(Value::to_string).collect();
    let mut found = LogScan::default();
    found.read_log(log.join("\n").as_bytes(), "x.jsonl", None).expect("readable");
    to_text(&found)
}

#[test]
fn unusable_entries_are_counted_with_their_first_line() {
    let plain = |n: usize| json!({"model": "claude-x", "text": text(n), "tokens": charged(Tokenizer::Claude, n, 1.2)});
    let mut lines: Vec<Value> = (0..30).map(plain).collect();
    lines.insert(3, json!({"text": "hi", "tokens": 1}));
    lines.insert(4, json!({"model": "claude-x", "usage": {"input_tokens": 1}, "messages": [{"content": [{"type": "image"}]}]}));
    lines.push(json!({"text": "hi", "tokens": 1}));
    let report = report_of(&lines);
    for line in [
        "claude, 30 requests",
        "tokenizer: claude",
        "tokenizerFactor: 1.",
        "1 unusable entry: images, audio, documents",
        "first at x.jsonl:5",
        "2 unusable entries: no known model; name its tokenizer with --tokenizer; first at x.jsonl:4",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
}

#[test]
fn too_few_requests_are_shown_without_advice() {
    let plain =
        |n: usize| json!({"model": "gpt-4o", "text": text(n), "tokens": charged(Tokenizer::O200k, n, 1.2)});
    let report = report_of(&(0..12).map(plain).collect::<Vec<_>>());
    assert!(
        report.contains("factor         1.2") && report.contains("no advice: 12 of at least 20"),
        "{report}"
    );
    assert!(!report.contains("tokenizerFactor:"), "{report}");
    assert!(report_of(&[]).contains("no usable request"));
    let far =
        |n: usize| json!({"model": "gpt-4o", "text": text(n), "tokens": charged(Tokenizer::O200k, n, 9.0)});
    assert!(report_of(&(0..30).map(far).collect::<Vec<_>>()).contains("outside 0.25 to 4"));
}

fn check_models(models: &[&str], expect: Option<Tokenizer>) {
    for model in models {
        assert_eq!(tokenizer_for_model(model), expect, "{model}");
    }
}

#[test]
fn families_are_told_by_names() {
    check_models(
        &["claude-opus-4-1", "anthropic/claude-3.5-sonnet", "us.anthropic.claude-sonnet-4-v1:0"],
        Some(Tokenizer::Claude),
    );
    check_models(
        &["gpt-4o-mini", "gpt-4.1", "o1", "o3-mini", "gpt-5", "openai/gpt-oss-120b", "chatgpt-4o-latest"],
        Some(Tokenizer::O200k),
    );
    check_models(&["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "GPT-4-0613"], Some(Tokenizer::Cl100k));
    check_models(&["", "llama-3", "mistral-large", "omni"], None);
}
