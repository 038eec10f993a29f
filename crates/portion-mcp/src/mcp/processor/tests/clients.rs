//! Tests of the policy that applies to each client.

use portion_core::policy::{ClientLimits, LimitOverrides, Policy};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_policy::client::Preset;
use portion_policy::endpoint::EndpointConfig;
use portion_tokens::Tokenizer;
use proptest::prelude::*;

use super::super::pending::PendingKind;
use super::{Arc, Gateway, GatewayParts, ListingOptions, McpProcessor, Scope, big, client, server};
use crate::mcp::McpProcessorFactory;

fn rules(preset: &str, overrides: LimitOverrides) -> EndpointRules {
    worked_out(overrides, Tokenizer::Auto, preset.parse().expect("a preset"), ClientLimits::UNKNOWN)
}

fn worked_out(
    limits: LimitOverrides,
    tokenizer: Tokenizer,
    preset: Preset,
    room: ClientLimits,
) -> EndpointRules {
    EndpointRules::new(
        Arc::new(EndpointConfig { limits, tokenizer, preset, ..EndpointConfig::default() }),
        room,
    )
}

fn processor(rules: EndpointRules) -> McpProcessor {
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let gateway = Gateway::new(GatewayParts::new(rules, store, [7; 32]));
    McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20)
        .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique())
}

/// Creates a processor after `initialize` with this `clientInfo`.
fn opened(rules: EndpointRules, client_info: &str) -> McpProcessor {
    let processor = processor(rules);
    let params =
        format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{client_info}}}"#);
    client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#));
    server(&processor, r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{}}}}"#);
    processor
}

/// Returns the policy of a request with these params.
fn terms(processor: &McpProcessor, params: &str) -> Arc<EffectivePolicy> {
    client(processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{params}}}"#));
    let pending = processor.pending_requests.lock().take("1").expect("it waits");
    let PendingKind::Content { caller, .. } = pending.kind else { panic!("it has content") };
    caller.effective_policy
}

/// `expect`: the byte limit and the counter after `initialize` with this `clientInfo`.
fn check(preset: &str, client_info: &str, expect: (usize, &str)) {
    let processor = opened(rules(preset, LimitOverrides::default()), client_info);
    let terms = terms(&processor, "{}");
    assert_eq!((terms.policy.hard_byte_limit, terms.counter.name()), expect, "{preset} {client_info}");
}

const CODEX: &str = r#"{"name":"codex-mcp-client","title":"Codex","version":"0.154.0"}"#;
const CLAUDE: &str = r#"{"version":"2.1.209","name":"claude-code"}"#;

#[test]
fn the_tokenizer_follows_the_client_and_limits_follow_the_preset() {
    check("none", CODEX, (65_536, "o200k"));
    check("none", CLAUDE, (65_536, "claude"));
    check("none", r#"{"name":"c\u006fdex"}"#, (65_536, "o200k"));
    check("auto", CODEX, (10_821, "o200k"));
    check("auto", CLAUDE, (45_000, "claude"));
    check("auto", r#"{"name":"Visual Studio Code","version":"1"}"#, (7_372, "auto"));
    for unknown in [r#"{"name":"cursor-vscode"}"#, r#"{"name":7}"#, "{}", "null", "[]"] {
        check("none", unknown, (65_536, "auto"));
        check("auto", unknown, (65_536, "auto"));
        check("codex", unknown, (10_821, "o200k"));
    }
    check("codex", CLAUDE, (10_821, "o200k"));
}

#[test]
fn configured_limits_take_precedence() {
    let overrides = LimitOverrides { hard_byte_limit: Some(60_000), ..LimitOverrides::default() };
    let processor =
        opened(worked_out(overrides, Tokenizer::Cl100k, Preset::Auto, ClientLimits::UNKNOWN), CODEX);
    let terms = terms(&processor, "{}");
    assert_eq!((terms.policy.hard_byte_limit, terms.counter.name()), (60_000, "cl100k"));
}

#[test]
fn a_stateless_request_names_its_client() {
    let processor = opened(rules("auto", LimitOverrides::default()), CLAUDE);
    let limit = |params: &str| terms(&processor, params).policy.hard_byte_limit;
    let meta = |info: &str| {
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        format!(r#"{{"_meta":{{{version},"io.modelcontextprotocol/clientInfo":{info}}}}}"#)
    };
    assert_eq!(limit(&meta(CODEX)), 10_821);
    assert_eq!(limit(&meta(r#"{"name":"nobody knows it"}"#)), 65_536);
    assert_eq!(limit("{}"), 45_000);
    assert_eq!(limit(r#"{"_meta":{"progressToken":1}}"#), 45_000);
    let sibling = processor.fork();
    assert_eq!(terms(&sibling, "{}").policy.hard_byte_limit, 45_000);
    assert_eq!(terms(&sibling.without_client(), "{}").policy.hard_byte_limit, 65_536);
}

#[test]
fn codex_names_the_model_of_a_call() {
    let processor = opened(rules("auto", LimitOverrides::default()), CODEX);
    let limit = |meta: &str| terms(&processor, &format!(r#"{{"_meta":{meta}}}"#)).policy.hard_byte_limit;
    let turn = |model: &str| format!(r#"{{"x-codex-turn-metadata":{{"turn_id":"1","model":{model}}}}}"#);
    assert_eq!(limit(&turn(r#""gpt-6.2-sol""#)), 43_221);
    assert_eq!(limit(&turn(r#""gpt-oss-120b""#)), 10_821);
    assert_eq!(limit(&turn("7")), 10_821);
    assert_eq!(limit("{}"), 10_821, "one call says nothing about the next");
}

#[test]
fn listed_tools_state_the_largest_result_for_a_client_that_applies_it() {
    let listed = |info: &str, overrides: LimitOverrides, tool: &str| {
        let processor = opened(rules("auto", overrides), info);
        client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
        let list = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"tools":[{tool}]}}}}"#);
        server(&processor, &list).remove(0)
    };
    let stated = |limit: &str| format!(r#""anthropic/maxResultSizeChars":{limit}"#);
    let plain = r#"{"name":"x","inputSchema":{"type":"object"}}"#;
    let list = listed(CLAUDE, LimitOverrides::default(), plain);
    assert_eq!(list.matches(&stated("65536")).count(), 1, "{list}");
    assert_eq!(list.matches(&stated("500000")).count(), 2, "everything that a program asks for: {list}");
    assert!(!listed(CODEX, LimitOverrides::default(), plain).contains("maxResultSizeChars"));
    let wide = LimitOverrides { hard_byte_limit: Some(2 << 20), ..LimitOverrides::default() };
    assert_eq!(listed(CLAUDE, wide, plain).matches(&stated("500000")).count(), 3);
    let own = r#"{"name":"x","_meta":{"anthropic/maxResultSizeChars":9,"y":1},"inputSchema":{}}"#;
    assert!(listed(CLAUDE, LimitOverrides::default(), own).contains(r#"Chars":9,"y":1}"#));
    let other = r#"{"name":"x","_meta":{"y":1},"inputSchema":{}}"#;
    assert!(
        listed(CLAUDE, LimitOverrides::default(), other)
            .contains(&format!(r#"{{"y":1,{}}}"#, stated("65536")))
    );
}

#[test]
fn length_based_counters_are_audited() {
    let audited = |tokenizer, info| {
        let processor = opened(
            worked_out(LimitOverrides::default(), tokenizer, Preset::Auto, ClientLimits::UNKNOWN),
            info,
        );
        terms(&processor, "{}").audits_counts
    };
    assert!(audited(Tokenizer::Chars4, CODEX) && audited(Tokenizer::Len4, "{}"));
    assert!(!audited(Tokenizer::Auto, CODEX) && !audited(Tokenizer::Auto, "{}"));
}

/// Returns the size of a large tool result after `initialize` and `tools/list`.
fn called(processor: &McpProcessor, meta: &str) -> usize {
    called_with(processor, meta, r#"{"startLine":1,"endLine":5000}"#, "")
}

/// `members`: those of the result beside its content.
fn called_with(processor: &McpProcessor, meta: &str, arguments: &str, members: &str) -> usize {
    let tool = format!(r#"{{"name":"log","inputSchema":{{"type":"object","properties":{{}}}}{meta}}}"#);
    client(processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    server(processor, &format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"tools":[{tool}]}}}}"#));
    let params = format!(r#"{{"name":"log","arguments":{arguments}}}"#);
    client(processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
    let text = big();
    let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]{members}}}"#);
    let out = server(processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    assert!(out[0].contains("nextCursor"), "{out:?}");
    out[0].len() - "< ".len()
}

#[test]
fn pages_fit_the_client() {
    let reply = |preset, info| called(&opened(rules(preset, LimitOverrides::default()), info), "");
    let unbounded = reply("none", CODEX);
    assert!(unbounded > 10_000, "{unbounded}");
    let default = Preset::default().to_string();
    let bounded = reply(default.as_str(), CODEX);
    assert!((8_000..=10_821).contains(&bounded), "{bounded}");
    let unknown = r#"{"name":"x"}"#;
    assert_eq!(reply("auto", unknown), reply("none", unknown));
}

#[test]
fn an_error_stays_below_the_limit_of_errors() {
    let error = |preset, overrides, meta| {
        let processor = opened(rules(preset, overrides), CLAUDE);
        called_with(&processor, meta, r#"{"maxTokens":12000}"#, r#","isError":true"#)
    };
    let limits = LimitOverrides::default;
    assert!(error("none", limits(), "") > 20_000);
    let bounded = error("auto", limits(), "");
    assert!((7_000..=9_000).contains(&bounded), "{bounded}");
    let wide = LimitOverrides { hard_byte_limit: Some(60_000), ..limits() };
    assert_eq!(error("auto", wide, ""), bounded, "a limit of results is none of errors");
    let stated = r#","_meta":{"anthropic/maxResultSizeChars":500000}"#;
    assert_eq!(error("auto", limits(), stated), bounded);
}

#[test]
fn a_tools_own_limit_applies_to_clients_that_honour_it() {
    let says = |characters: &str| format!(r#","_meta":{{"anthropic/maxResultSizeChars":{characters}}}"#);
    let reply =
        |preset, info, meta: &str| called(&opened(rules(preset, LimitOverrides::default()), info), meta);
    let plain = reply("none", CLAUDE, "");
    assert!(plain > 20_000, "{plain}");
    let bounded = reply("none", CLAUDE, &says("10000"));
    assert!((7_000..=9_000).contains(&bounded), "{bounded}");
    assert!(reply("none", CODEX, &says("10000")) > 9_000, "it is not meant for this one");
    for nonsense in ["\"10000\"", "0", "-1", "null", "1e4", "{}"] {
        assert_eq!(reply("none", CLAUDE, &says(nonsense)), plain, "{nonsense}");
    }
    assert_eq!(reply("none", CLAUDE, &says("500000")), plain, "room is no wish");
}

#[test]
fn a_tools_own_limit_replaces_only_the_clients_limit_in_characters() {
    let claude = "claude-code".parse().expect("a preset");
    let rules = worked_out(LimitOverrides::default(), Tokenizer::Auto, Preset::Auto, ClientLimits::UNKNOWN);
    let Preset::Named(client) = claude else { panic!("a client") };
    let limit = |characters| rules.default_rule().policy_for_tool(client, characters).policy.hard_byte_limit;
    assert_eq!(rules.default_rule().policy_for_client(Some(client)).policy.hard_byte_limit, 45_000);
    assert_eq!([1, 10_000, 50_000, 500_000].map(limit), [4_096, 9_000, 45_000, 65_536]);
    let surroundings = ClientLimits { max_tokens: Some(1_800), ..ClientLimits::UNKNOWN };
    let rules = worked_out(LimitOverrides::default(), Tokenizer::Auto, Preset::Auto, surroundings);
    assert_eq!(rules.default_rule().policy_for_tool(client, 500_000).policy.token_budget_threshold, 1_800);
    let overrides = LimitOverrides { hard_byte_limit: Some(60_000), ..LimitOverrides::default() };
    let rules = worked_out(overrides, Tokenizer::Auto, Preset::Auto, ClientLimits::UNKNOWN);
    assert_eq!(rules.default_rule().policy_for_tool(client, 10_000).policy.hard_byte_limit, 60_000);
}

proptest! {
    #[test]
    fn the_policy_of_any_client_is_valid_and_within_its_limits(
        name in prop_oneof![".{0,20}", "(claude|codex|goose|Visual Studio Code|gemini-cli-mcp-client).{0,12}"],
        preset in prop_oneof![Just("none"), Just("auto"), Just("vscode"), Just("claude-code")],
        tokens in proptest::option::of(0_usize..30_000),
        characters in 0_usize..600_000,
    ) {
        let room = ClientLimits { max_tokens: tokens, ..ClientLimits::UNKNOWN };
        let preset = preset.parse().expect("a preset");
        let rules = worked_out(LimitOverrides::default(), Tokenizer::Auto, preset, room);
        let who = rules.resolve_client(Some(&name));
        let served = [Some(Arc::clone(rules.default_rule().policy_for_client(who))), who.map(|who| rules.default_rule().policy_for_tool(who, characters))];
        for EffectivePolicy { policy, .. } in served.iter().flatten().map(AsRef::as_ref) {
            prop_assert_eq!(policy.validate(), Ok(()));
            prop_assert_eq!(policy.reply_target, policy.token_budget_threshold);
            let limits = [policy.hard_cap, policy.token_budget_threshold];
            let max = tokens.map_or(usize::MAX, |tokens| tokens.max(600));
            prop_assert!(limits.iter().all(|limit| *limit <= max));
            let base = Policy::default();
            prop_assert!(policy.hard_cap <= base.hard_cap && policy.hard_byte_limit <= base.hard_byte_limit);
        }
    }
}
