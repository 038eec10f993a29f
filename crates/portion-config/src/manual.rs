//! The keys as a page of the documentation has them.

use std::fmt::Write as _;

use crate::key::{Group, Key, Standing};

/// Tables of all keys, a heading for each group, as Markdown.
pub fn manual() -> String {
    let mut out = String::new();
    for group in Group::ALL {
        let _ = write!(out, "\n### {}\n\n", group.heading());
        out.push_str("| key | value | default | what it decides | where | reload |\n| --- | --- | --- | --- | --- | --- |\n");
        for key in Key::all().filter(|key| key.group == group) {
            let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
            let _ = writeln!(
                out,
                "| `{}` | {} | {default} | {} | {} | {} |",
                key.name,
                cell(&kind(key)),
                cell(key.doc),
                standing(key.standing),
                if key.reloads { "yes" } else { "restart" },
            );
        }
    }
    out
}

fn kind(key: &Key) -> String {
    match key.or {
        [] => key.kind.what(),
        or => format!("{}; or {}", key.kind.what(), or.join(", ")),
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Everywhere => "everywhere",
        Standing::Server => "top, upstream",
        Standing::Top => "top",
        Standing::Upstream => "upstream",
        Standing::Endpoint => "endpoint",
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
