//! The table of clients is the one that the program goes by.

use std::fmt::Write as _;

use portion_core::policy::{ClientLimits, LimitOverrides, Policy};
use portion_policy::client::{CLIENTS, ClientProfile, ResultLimit};
use portion_tokens::Tokenizer;

use super::{Outcome, check, page};

const PAGE: &str = "docs/reference/clients.md";
const HEAD: &str = "| client | `clientInfo.name` | its model sees | a result may have | above, it | tokens by | preset | which sets | read at |";

#[test]
fn are_those_the_program_knows() -> Outcome {
    let mut expect = String::new();
    let mut in_table = false;
    for line in page(PAGE)?.lines() {
        in_table &= line.starts_with('|');
        if line == HEAD {
            in_table = true;
            writeln!(expect, "{HEAD}\n|{}", " --- |".repeat(HEAD.matches(" |").count()))?;
            for client in &CLIENTS {
                writeln!(expect, "{}", row(client))?;
            }
        }
        if !in_table {
            writeln!(expect, "{line}")?;
        }
    }
    assert!(expect.contains(HEAD), "{PAGE} has no table");
    check(PAGE, &expect)
}

fn row(client: &ClientProfile) -> String {
    let ClientProfile {
        title,
        name_patterns: names,
        limits,
        error_limit,
        overflow_behaviour: above,
        tokenizer,
        preset,
        sources,
        shown_form,
        ..
    } = client;
    let names = joined(names.iter().map(|name| format!("`{}`", name.replace('*', "…"))));
    let errors = error_limit.map(|limit| format!("an error {}", told(limit)));
    let limits = joined(limits.iter().map(|limit| told(*limit)).chain(errors));
    let tokenizer = tokenizer.unwrap_or(Tokenizer::Auto);
    let sources = joined(sources.iter().enumerate().map(|(i, source)| format!("[{}]({source})", i + 1)));
    let cells = [
        *title,
        &names,
        shown_form.name(),
        &limits,
        above,
        &format!("`{tokenizer}`"),
        &format!("`{preset}`"),
        &set_by(client),
    ];
    format!(
        "| {} | {sources} |",
        cells.map(|cell| if cell.is_empty() { "–" } else { cell }.to_owned()).join(" | ")
    )
}

/// The limits that a client's preset changes.
fn set_by(client: &ClientProfile) -> String {
    let limits = |room: ClientLimits| {
        let policy: Policy = LimitOverrides::default().resolve(room);
        [
            ("tokenBudgetThreshold", policy.token_budget_threshold),
            ("replyTarget", policy.reply_target),
            ("hardCap", policy.hard_cap),
            ("hardByteLimit", policy.hard_byte_limit),
            ("fallbackByteLimit", policy.fallback_byte_limit),
            ("mediaByteLimit", policy.media_byte_limit),
        ]
    };
    let changed = limits(client.reply_room())
        .into_iter()
        .zip(limits(ClientLimits::UNKNOWN))
        .filter(|(new, old)| new != old);
    joined(changed.map(|((key, limit), _)| format!("`{key}` {}", grouped(limit))))
}

fn told(limit: ResultLimit) -> String {
    match limit {
        ResultLimit::Tokens(limit) => format!("{} tokens", grouped(limit)),
        ResultLimit::Characters(limit) => format!("{} characters", grouped(limit)),
        ResultLimit::Bytes(limit) => format!("{} bytes", grouped(limit)),
        ResultLimit::TotalBytes(limit) => format!("{} bytes, images included", grouped(limit)),
    }
}

/// `1048576` as `1,048,576`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
