//! Generates the reference of all keys for the documentation.

use std::fmt::Write as _;

use crate::key::{Key, KeyGroup, Placement};

/// Returns tables of all keys as Markdown, with a heading for each group.
pub fn manual() -> String {
    let mut out = String::new();
    for group in KeyGroup::ALL {
        let _ = write!(out, "\n### {}\n\n", group.heading());
        out.push_str("| key | value | default | description | where | reload |\n| --- | --- | --- | --- | --- | --- |\n");
        for key in Key::all().filter(|key| key.group == group) {
            let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
            let _ = writeln!(
                out,
                "| `{}` | {} | {default} | {} | {} | {} |",
                key.name,
                escape_cell(&value_description(key)),
                escape_cell(key.doc),
                placement_label(key.placement),
                if key.is_reloadable { "yes" } else { "restart" },
            );
        }
    }
    out
}

fn value_description(key: &Key) -> String {
    match key.keywords {
        [] => key.kind.description(),
        or => format!("{}; or {}", key.kind.description(), or.join(", ")),
    }
}

fn placement_label(standing: Placement) -> &'static str {
    match standing {
        Placement::Everywhere => "everywhere",
        Placement::TopOrUpstream => "top, upstream",
        Placement::Top => "top",
        Placement::Upstream => "upstream",
        Placement::Endpoint => "endpoint",
    }
}

fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|")
}
