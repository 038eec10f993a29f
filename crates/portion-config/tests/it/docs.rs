//! Tests that the documentation contains the generated table of keys. `UPDATE_DOCS=1` rewrites it.

use std::path::Path;
use std::{env, fs};

use portion_config::Config;
use portion_config::key::{CliFlag, Key, SettingsLevel};
use portion_config::template::manual;
use portion_core::policy::{ClientLimits, LimitOverrides, Policy, RenderOptions};
use portion_policy::client::CLIENTS;
use portion_policy::endpoint::PolicySource;
use portion_tokens::Tokenizer;

use super::{loaded, with_options, yaml};

const BEGIN: &str = "<!-- keys -->\n";
const END: &str = "<!-- end of keys -->\n";

#[test]
fn the_page_has_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("where the keys begin");
    let (_, after) = rest.split_once(END).expect("where they end");
    let expect = format!("{before}{BEGIN}{}\n{END}{after}", manual());
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, expect).expect("writable");
    } else {
        assert_eq!(page, expect, "UPDATE_DOCS=1 writes it anew");
    }
}

#[test]
fn documented_defaults_are_in_force() {
    let options: Vec<(&str, &str)> = Key::all()
        .filter(|key| {
            key.is_allowed_at(SettingsLevel::Top) && !key.default.is_empty() && key.name != "replyTarget"
        })
        .map(|key| (key.name, key.default))
        .collect();
    let config = loaded(&with_options(yaml("{}"), &options));
    let written = config.endpoint_config(None);
    // A configured page size is one that pages keep.
    let manner = RenderOptions {
        has_fixed_page_size: true,
        ..loaded(&yaml("{}")).endpoint_config(None).limits.render_options
    };
    assert_eq!(
        written.limits.resolve(ClientLimits::UNKNOWN),
        Policy { render_options: manner.clone(), ..Policy::default() }
    );
    let expect = LimitOverrides {
        reply_target: None,
        render_options: manner,
        ..LimitOverrides::from(&Policy::default())
    };
    assert_eq!(written.limits, expect);
}

#[test]
fn variables_and_options_are_named_after_keys() {
    let key = Key::by_name("hardByteLimit").expect("a key");
    assert_eq!(key.option().as_deref(), Some("hard-byte-limit"));
    assert_eq!(key.variable().as_deref(), Some("PORTION_HARD_BYTE_LIMIT"));
    assert_eq!(Key::by_name("allowHosts").and_then(Key::option).as_deref(), Some("allow-host"));
    assert_eq!(Key::by_name("url").and_then(Key::variable), None);
    for (i, key) in Key::all().enumerate() {
        assert!(!Key::all().take(i).any(|other| other.name == key.name), "{} twice", key.name);
        assert!(!key.doc.is_empty() && !key.doc.ends_with('.') && !key.value_name.is_empty(), "{}", key.name);
        if let CliFlag::OptionalValue(value) = key.flag {
            key.parse(value).expect("a value");
        }
    }
}

#[test]
fn documented_choices_are_complete() {
    let words = |name: &str| Key::by_name(name).expect("a key").kind.description();
    let presets = ["none", "auto", "code"].into_iter().chain(CLIENTS.iter().map(|client| client.preset));
    assert_eq!(words("preset"), presets.collect::<Vec<_>>().join(", "));
    assert_eq!(words("tokenizer"), Tokenizer::ALL.map(|tokenizer| tokenizer.to_string()).join(", "));
}

/// Returns a value other than the default for each key.
fn other(key: &Key) -> &'static str {
    match key.name {
        "profile" => "soft",
        "sections" => "{a: [b]}",
        "split" | "rollout" => "7",
        "experiment" => "shadow",
        "items" | "summaryFields" | "sort" | "redact" | "stripFields" => "a",
        "preset" => "codex",
        "tokenizer" => "chars4",
        "strategy" => "plain",
        "fill" => "skip",
        "oversized" => "refuse",
        "mode" => "development",
        "metadata" | "compact" => "always",
        "metadataStyle" => "snake",
        "envelope" => "wrap",
        "rows" => "auto",
        "firstRows" => "sample",
        "missingValues" => "-1=missing",
        "pagination" | "summarization" | "chunking" | "query" => "false",
        "controls" | "reuse" | "dryRun" | "allowWhole" | "summaryOnly" => "true",
        "alertOn" => "every",
        "alertWindow" | "requestTimeout" => "60s",
        "warnAt" | "tokenizerFactor" => "0.5",
        "replyTarget" => "700",
        "rankedTarget" => "650",
        "tokenBudgetThreshold" => "5000",
        "hardCap" => "5001",
        "fallbackByteLimit" => "5002",
        "hardByteLimit" | "unshapedByteLimit" | "mediaByteLimit" => "60000",
        "sessionBudget" => "90000",
        _ => "60",
    }
}

#[test]
fn no_key_is_without_effect() {
    let meant = |config: &Config| format!("{:?} {:?}", config.endpoint_config(None), config.alerts());
    let base = meant(&loaded(&yaml("{}")));
    for key in Key::all()
        .filter(|key| key.is_allowed_at(SettingsLevel::Top) && key.is_reloadable && key.name != "endpoints")
    {
        let value = if key.name == "chunkSize" { "101" } else { other(key) };
        let config: Config = loaded(&with_options(yaml("{}"), &[(key.name, value)]));
        assert_ne!(meant(&config), base, "{}", key.name);
    }
}
