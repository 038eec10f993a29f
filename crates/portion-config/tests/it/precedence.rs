//! Tests which settings take effect.

use portion_config::{Config, ServerConfig, Sources};
use portion_core::policy::{ClientLimits, EnvelopeMode, MetadataStyle, Policy, PolicyProfile};
use portion_policy::endpoint::{
    AdvertisePolicy, EndpointKind, EndpointTarget, Experiment, PolicySource, Rollout,
};

use super::{file, loaded, tool, with_options, with_variables, yaml};

#[test]
fn v3_3_nothing_configured_is_4000_tokens_and_50_items() {
    for sources in [Sources::default(), yaml("{}"), file("portion.json", "{}")] {
        let config = loaded(&sources);
        let policy = config.endpoint_config(tool("list_bookings")).limits.resolve(ClientLimits::UNKNOWN);
        assert_eq!((policy.token_budget_threshold, policy.default_page_size), (4_000, 50));
        let render_options = policy.render_options.clone();
        assert_eq!(policy, Policy { render_options, ..Policy::default() });
    }
}

#[test]
fn v3_2_paging_switched_on_for_one_endpoint_leaves_others_unchanged() {
    let off = loaded(&yaml("pagination: false"));
    let on = loaded(&yaml("pagination: false\nendpoints:\n  list_bookings: {pagination: true}\n"));
    let paged = |name| on.endpoint_config(tool(name)).limits.render_options.techniques.pagination;
    assert!(paged("list_bookings"));
    for name in ["list_guests", "list_bookings_2", ""] {
        assert!(!paged(name), "{name}");
        assert_eq!(on.endpoint_config(tool(name)).limits, off.endpoint_config(tool(name)).limits);
    }
}

#[test]
fn the_most_specific_rule_wins_key_by_key() {
    let config = loaded(&yaml(
        "
defaultPageSize: 10
metadataStyle: snake
endpoints:
  list_bookings: {pageSize: 40}
  list_*: {pageSize: 20, envelope: wrap}
  '*': {pageSize: 30, rollout: 25}
  file:///logs/*: {chunkLines: 50}
  'GET /bookings/{id}': {chunkLines: 60}
  /bookings/*: {chunkLines: 70}
",
    ));
    let size = |name| config.endpoint_config(tool(name)).limits.default_page_size;
    assert_eq!(size("list_bookings"), Some(40));
    assert_eq!(size("list_guests"), Some(20));
    assert_eq!(size("get_guest"), Some(30));
    assert_eq!(config.endpoint_config(None).limits.default_page_size, Some(10));
    let written = config.endpoint_config(tool("list_bookings"));
    assert_eq!(written.limits.render_options.envelope, EnvelopeMode::Wrap);
    assert_eq!(written.limits.render_options.metadata_style, MetadataStyle::Snake);
    assert_eq!((written.rollout.percent, &*written.rollout.salt), (25.0, "*"));
    let lines = |name| config.endpoint_config(tool(name)).limits.chunk_lines;
    assert_eq!(lines("file:///logs/a/b.log"), Some(50));
    assert_eq!(lines("GET /bookings/7"), Some(60));
    assert_eq!(lines("PUT /bookings/7"), Some(70));
    assert_eq!(lines("GET /bookings/7/guests"), Some(70));
    assert_eq!(lines("GET /bookings"), None);
}

#[test]
fn a_server_has_settings_of_its_own() {
    let config = loaded(&yaml(
        "
hardCap: 9000
readTool: read_on
endpoints: {list_*: {pageSize: 20}}
upstreams:
  git: {command: uvx 'mcp server' --x, hardCap: 8000, queryTool: none, endpoints: {list_*: {pageSize: 30}, '*': {pageSize: 5}}}
  docs: {url: 'https://docs.example.com/mcp', transport: sse, advertise: [find_*], rollout: 10}
",
    ));
    let of = |upstream, name| {
        config.endpoint_config(Some(EndpointTarget {
            upstream: Some(upstream),
            kind: EndpointKind::Tool,
            name,
        }))
    };
    assert_eq!(of("git", "list_x").limits.default_page_size, Some(30));
    assert_eq!(of("git", "other").limits.default_page_size, Some(5));
    assert_eq!(of("docs", "list_x").limits.default_page_size, Some(20));
    assert_eq!(of("git", "list_x").limits.hard_cap, Some(8_000));
    assert_eq!(of("docs", "list_x").limits.hard_cap, Some(9_000));
    assert_eq!(&*of("docs", "x").rollout.salt, "docs");
    let [git, docs] = config.upstreams() else { panic!("two servers") };
    assert_eq!((&*git.name, &*docs.name), ("git", "docs"));
    let argv = ["uvx", "mcp server", "--x"].map(str::to_owned).to_vec();
    assert_eq!(git.server, ServerConfig::Command { argv, environment: vec![] });
    assert!(matches!(&docs.server, ServerConfig::Url { url, .. } if url == "https://docs.example.com/mcp"));
    assert_eq!(config.listing(Some("git")).query_tool, None);
    assert_eq!(config.listing(Some("docs")).read_tool, "read_on");
    assert_eq!(config.listing(Some("docs")).advertise, AdvertisePolicy::Named(vec!["find_*".into()]));
    assert_eq!(config.listing(None).advertise, AdvertisePolicy::Lists);
}

#[test]
fn options_beat_variables_beat_the_file() {
    let text = "hardCap: 5000\nreplyTarget: 1000\nchunkLines: 20\nendpoints: {a: {pageSize: 1, rows: auto}}";
    let sources = with_variables(
        yaml(text),
        &[
            ("PORTION_HARD_CAP", "6000"),
            ("PORTION_CHUNK_LINES", "30"),
            ("PORTION_ENDPOINTS", "{a: {pageSize: 2}, b: {pageSize: 3}}"),
            ("PORTION_REDACT", "secrets,*Code"),
            ("PORTION_LOG", "info"),
            ("OTHER", "x"),
        ],
    );
    let config =
        loaded(&with_options(sources, &[("chunkLines", "40"), ("allowHosts", "a"), ("allowHosts", "b")]));
    let limits = config.endpoint_config(None).limits;
    assert_eq!(
        (limits.hard_cap, limits.reply_target, limits.chunk_lines),
        (Some(6_000), Some(1_000), Some(40))
    );
    assert_eq!(config.endpoint_config(tool("a")).limits.default_page_size, Some(2));
    assert_eq!(config.endpoint_config(tool("b")).limits.default_page_size, Some(3));
    assert!(config.endpoint_config(tool("a")).limits.rows.is_some());
    assert_eq!(config.allow_hosts(), ["a", "b"]);
    assert!(config.endpoint_config(None).redact.is_some());
}

#[test]
fn configured_keys_override_a_profile() {
    let lean = loaded(&with_options(yaml("hardCap: 6000"), &[("lean", "")]));
    let written = lean.endpoint_config(None);
    assert_eq!(written.limits.profile, PolicyProfile::Lean);
    assert!(written.redact.is_some());
    let policy = written.limits.resolve(ClientLimits::UNKNOWN);
    assert_eq!((policy.reply_target, policy.hard_cap), (1_200, 6_000));
    assert!(loaded(&yaml("{profile: lean, redact: none}")).endpoint_config(None).redact.is_none());
    let soft = loaded(&yaml("profile: soft")).endpoint_config(None).limits.resolve(ClientLimits::UNKNOWN);
    assert_eq!(soft.default_page_size, 200);
}

#[test]
fn experiments_and_dry_runs() {
    let arm = |text: &str| loaded(&yaml(text)).endpoint_config(tool("x")).experiment;
    assert_eq!(arm("{}"), Experiment::None);
    assert_eq!(arm("experiment: shadow"), Experiment::Shadow);
    assert!(loaded(&yaml("dryRun: true")).endpoint_config(tool("x")).dry_run);
    assert_eq!(arm("{experiment: shadow, endpoints: {x: {experiment: none}}}"), Experiment::None);
    for text in ["split: 20", "experiment: {split: 20}"] {
        assert!(
            matches!(arm(text), Experiment::Split(share) if share == Rollout { percent: 20.0, salt: "".into() })
        );
    }
    let split = arm("{split: 20, endpoints: {x*: {split: 30}}}");
    assert!(
        matches!(split, Experiment::Split(share) if share == Rollout { percent: 30.0, salt: "x*".into() })
    );
}

#[test]
fn settings_for_everything() {
    let config = loaded(&yaml(
        "{snapshotTtl: 90s, snapshotMemory: 1MiB, listen: '0.0.0.0:80', admin: off, stripFields: [a, b*]}",
    ));
    assert_eq!(config.snapshot_ttl(), Some(std::time::Duration::from_secs(90)));
    assert_eq!(config.snapshot_memory(), 1 << 20);
    assert_eq!(config.listen_or(([127, 0, 0, 1], 1).into()).port(), 80);
    assert_eq!(config.admin(), None);
    assert_eq!(config.endpoint_config(None).limits.render_options.strip_rule.names(), ["a", "b*"]);
    let loud = loaded(&yaml("{mode: development, stripFields: [a]}"));
    assert!(loud.endpoint_config(None).limits.render_options.strip_rule.names().is_empty());
    assert!(!loaded(&yaml("{}")).endpoint_config(None).limits.render_options.strip_rule.names().is_empty());
}

#[test]
fn overlapping_rules_never_give_contradictory_limits() {
    let text =
        "endpoints: {list_*: {tokenBudgetThreshold: 20000}, '*_all_of_them': {hardCap: 5000, pageSize: 7}}";
    let written = loaded(&yaml(text)).endpoint_config(tool("list_all_of_them"));
    assert!(written.limits.resolve(ClientLimits::UNKNOWN).validate().is_ok());
    assert_eq!(written.limits.token_budget_threshold, Some(20_000));
}

#[test]
fn overlapping_rules_with_contradictory_limits_are_reported() {
    let text = "endpoints:\n  list_*: {tokenBudgetThreshold: 20000}\n  '*_all': {hardCap: 5000}\n  get_*: {hardCap: 5000}\n";
    let (_, warnings) = Config::load(&yaml(text), 1).expect("strange, not wrong");
    let messages: Vec<String> = warnings.0.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "portion.yaml:3:13: hardCap is 5000 where *_all and list_* meet, below tokenBudgetThreshold, which is 20000 \
          (portion.yaml:2:12); raise hardCap or lower tokenBudgetThreshold; until then, the limits of the second are ignored there"
        ]
    );
}
