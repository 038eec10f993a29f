//! Tests profiles that are whole configurations, and the section of another server.

use std::collections::BTreeMap;
use std::sync::Arc;

use portion_config::profile::PROFILES;
use portion_config::{Config, ServerConfig, Sources, show};
use portion_core::policy::MetadataStyle;
use portion_policy::endpoint::{EndpointConfig, PolicySource};

use super::{loaded, refused, tool, with_options, yaml};

fn config(text: &str) -> Config {
    loaded(&yaml(text))
}

fn endpoint(config: &Config, name: &str) -> EndpointConfig {
    config.endpoint_config(tool(name))
}

fn server(config: &Config) -> &ServerConfig {
    let [upstream] = config.upstreams() else { panic!("{:?}", config.upstreams()) };
    &upstream.server
}

#[test]
fn each_profile_is_valid_and_lists_tools() {
    for profile in &PROFILES {
        let config = config(&format!("profile: {}", profile.name));
        let ServerConfig::Rest(rest) = server(&config) else { panic!("{}", profile.name) };
        assert!(rest.tools.len() >= 3 && rest.url.is_some(), "{}", profile.name);
        assert!(show(&config, true, None).contains(&format!("# profile {}", profile.name)));
    }
}

#[test]
fn rules_hold_with_and_without_a_prefix() {
    let config = config("profile: hostaway");
    for name in ["search_bookings", "hostaway_search_bookings", "GET /v1/reservations"] {
        let rule = endpoint(&config, name);
        assert!(rule.read && rule.pushdown.is_some(), "{name}");
        assert!(rule.limits.render_options.summary_only, "{name}");
        assert_eq!(rule.limits.render_options.summary_fields[1], "status", "{name}");
    }
    // A client of the route may walk the list by `afterId` itself.
    let pushdown = endpoint(&config, "GET /v1/reservations").pushdown.expect("paging");
    assert!(pushdown.is_foreign_position("afterId") && !pushdown.is_foreign_position("offset"));
    let rule = endpoint(&config, "hostaway_get_booking_details");
    let sections: Vec<&str> =
        rule.limits.render_options.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(sections, ["guest", "financial", "property", "messages"]);
    assert!(endpoint(&config, "other").redact.is_some());
}

#[test]
fn a_file_overrides_a_profile() {
    let config = config(
        "profile: education-data\ntokenBudgetThreshold: 5000\nredact: [phone]\nendpoints:\n  \
         '*get_education_data': {pushdown: none}\n",
    );
    let rule = endpoint(&config, "get_education_data");
    assert_eq!(rule.limits.token_budget_threshold, Some(5000));
    assert_eq!(rule.limits.default_page_size, Some(20));
    assert_eq!(rule.limits.render_options.metadata_style, MetadataStyle::Snake);
    assert!(rule.pushdown.is_none() && rule.read);
    let redacted = with_options(yaml("{}"), &[("profile", "hostaway"), ("redact", "none")]);
    assert!(endpoint(&loaded(&redacted), "get_guest_info").redact.is_none());
}

#[test]
fn servers_of_a_file_replace_that_of_the_profile() {
    let own = config("profile: hostaway\nupstreams: {mine: {command: my-server}}");
    assert!(matches!(server(&own), ServerConfig::Command { .. }));
    let moved = config("profile: hostaway\nupstreams: {hostaway: {url: 'http://127.0.0.1:1'}}");
    let ServerConfig::Rest(rest) = server(&moved) else { panic!("{:?}", server(&moved)) };
    assert!(rest.url.as_deref() == Some("http://127.0.0.1:1") && !rest.tools.is_empty());
    let several = config(
        "upstreams:\n  a: {profile: hostaway}\n  b: {command: my-server, profile: education-data}\n  c: {command: other}",
    );
    let kinds: Vec<String> = several.upstreams().iter().map(|one| format!("{:?}", one.server)).collect();
    assert_eq!(kinds, ["Rest", "Command", "Command"]);
    let page_size = |upstream| {
        let target = portion_policy::endpoint::EndpointTarget {
            upstream: Some(upstream),
            ..tool("x").expect("a tool")
        };
        several.endpoint_config(Some(target)).limits.default_page_size
    };
    assert_eq!((page_size("a"), page_size("b"), page_size("c")), (None, Some(20), None));
}

#[test]
fn a_server_that_names_a_profile_is_its_api_under_any_name() {
    let config = config("upstreams: {rentals: {profile: hostaway, url: 'http://127.0.0.1:1'}}");
    let ServerConfig::Rest(rest) = server(&config) else { panic!("{:?}", server(&config)) };
    assert!(rest.url.as_deref() == Some("http://127.0.0.1:1") && rest.oauth.is_some());
    let check = |keys: &str, expect: &str| {
        let config = loaded(&yaml(&format!("upstreams: {{rentals: {{profile: hostaway, {keys}}}}}")));
        assert_eq!(format!("{:?}", server(&config)), expect, "{keys}");
    };
    check("url: 'http://127.0.0.1:1/mcp'", "Url");
    check("url: 'http://127.0.0.1:1', transport: http", "Url");
    check("command: my-server", "Command");
}

#[test]
fn a_printed_profile_is_the_same_configuration() {
    for profile in &PROFILES {
        let printed = show(&config(&format!("profile: {}", profile.name)), false, None);
        let read = config(&printed);
        for name in
            ["search_bookings", "hostaway_get_booking_details", "get_education_data", "GET /v1/reviews"]
        {
            let own = endpoint(&config(&format!("profile: {}", profile.name)), name);
            assert_eq!(endpoint(&read, name), own, "{name}");
        }
        let rest = |config: &Config| match server(config) {
            ServerConfig::Rest(rest) => (**rest).clone(),
            other => panic!("{other:?}"),
        };
        assert!(rest(&read) == rest(&config(&format!("profile: {}", profile.name))), "{printed}");
    }
    let shown = show(&config("profile: hostaway"), false, None);
    assert!(shown.contains("${HOSTAWAY_CLIENT_SECRET}"), "{shown}");
}

#[test]
fn a_server_with_the_name_of_an_api_may_be_an_mcp_server() {
    let check = |server_keys: &str, expect: &str| {
        for text in [
            format!("profile: hostaway\nupstreams: {{hostaway: {{{server_keys}}}}}"),
            format!("upstreams: {{hostaway: {{profile: hostaway, {server_keys}}}}}"),
        ] {
            let config = config(&text);
            assert_eq!(format!("{:?}", server(&config)), expect, "{text}");
            let target = portion_policy::endpoint::EndpointTarget {
                upstream: Some("hostaway"),
                ..tool("search_bookings").expect("a tool")
            };
            assert!(config.endpoint_config(Some(target)).pushdown.is_some(), "{text}");
        }
    };
    check("url: 'https://api.example.com'", "Rest");
    check("url: 'https://api.example.com/mcp/v2'", "Rest");
    check("url: 'https://example.com/mcp'", "Url");
    check("url: 'https://example.com/a/mcp/?page=1'", "Url");
    check("url: 'https://example.com/sse'", "Url");
    check("url: 'https://example.com/', transport: http", "Url");
    check("command: my-server", "Command");
}

#[test]
fn credentials_are_needed_only_by_who_uses_the_api() {
    let sources = |variables: &[(&str, &str)]| {
        let resolver: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Sources { secret_resolver: Some(Arc::new(resolver)), ..yaml("profile: hostaway") }
    };
    let rest = |sources: &Sources| match server(&loaded(sources)) {
        ServerConfig::Rest(rest) => (**rest).clone(),
        other => panic!("{other:?}"),
    };
    let missing = rest(&sources(&[("HOSTAWAY_CLIENT_ID", "1")]));
    assert_eq!(missing.unresolved.len(), 1);
    assert!(missing.unresolved[0].to_string().contains("HOSTAWAY_CLIENT_SECRET, which is not set"));
    let complete = rest(&sources(&[("HOSTAWAY_CLIENT_ID", "1"), ("HOSTAWAY_CLIENT_SECRET", "s")]));
    assert!(complete.unresolved.is_empty());
    assert_eq!(complete.oauth.map(|oauth| oauth.client_secret).as_deref(), Some("s"));
}

#[test]
fn a_profile_is_not_for_an_endpoint() {
    let found = refused(&yaml("endpoints: {x: {profile: hostaway}}")).to_string();
    assert!(found.contains("the profile hostaway is not allowed at an endpoint (x)"), "{found}");
}

#[test]
fn descriptions_of_tools_are_checked() {
    let check = |tools: &str, expect: &str| {
        let found =
            refused(&yaml(&format!("upstreams: {{a: {{url: 'http://x/', tools: {tools}}}}}"))).to_string();
        assert!(found.contains(expect), "{tools}: {found}");
    };
    check("{a b: {description: d, request: GET /}}", "has the tool name `a b`");
    check("{t: {description: d}}", "needs a request and a description");
    check("{t: {description: d, request: FETCH /x}}", "has an invalid request");
    check(
        "{t: {description: d, request: 'GET /{x}'}}",
        "has `x` in its path, which is none of its arguments",
    );
    check("{t: {description: d, request: GET /, colour: red}}", "has the unknown key `colour`");
    check("{t: {description: d, request: GET /, parameters: {p: {in: head}}}}", "has an unknown place");
    let parameter = |parameter: &str, expect: &str| {
        check(&format!("{{t: {{description: d, request: GET /, parameters: {{p: {parameter}}}}}}}"), expect);
    };
    parameter("{required: yes}", "has required, which is neither true nor false");
    parameter("{list: 1}", "has list, which is neither true nor false");
    parameter("{descripton: d}", "has the unknown key `descripton`");
    parameter("{name: []}", "has a name that is not text");
    check("{t: {description: d, request: POST /, body: {a: [1]}}}", "neither text, numbers nor booleans");
    check("{t: 5}", "is not a map");
    let found = refused(&yaml("upstreams: {a: {tools: {t: {description: d, request: GET /}}}}")).to_string();
    assert!(found.contains("the upstream a has tools and no url"), "{found}");
}

#[test]
fn numbers_of_a_body_stay_numbers() {
    let tool = "{description: d, request: POST /, body: {n: 5, text: '5', flag: true, version: 1.0.1}}";
    let config = config(&format!("upstreams: {{a: {{url: 'http://x/', tools: {{t: {tool}}}}}}}"));
    let ServerConfig::Rest(rest) = server(&config) else { panic!("{:?}", server(&config)) };
    let body: serde_json::Map<_, _> = rest.tools[0].body.iter().cloned().collect();
    assert_eq!(
        serde_json::to_string(&body).expect("JSON"),
        r#"{"n":5,"text":"5","flag":true,"version":"1.0.1"}"#
    );
}

#[test]
fn the_section_of_another_server_is_read_as_it_is() {
    let section = "
context_protection:
  output_token_threshold: 5000
  hard_output_token_cap: 11000
  default_page_size: 40
  max_page_size: 150
  enable_summarization: true
  enable_pagination: true
  endpoints:
    /api/v1/bookings:
      page_size: 25
      pagination_enabled: true
      summarization_enabled: false
      threshold: 3000
      hard_cap: 6000
";
    let config = config(section);
    let limits = endpoint(&config, "other").limits;
    let numbers =
        (limits.token_budget_threshold, limits.hard_cap, limits.default_page_size, limits.max_page_size);
    assert_eq!(numbers, (Some(5000), Some(11_000), Some(40), Some(150)));
    let limits = endpoint(&config, "GET /api/v1/bookings").limits;
    let numbers = (limits.token_budget_threshold, limits.hard_cap, limits.default_page_size);
    assert_eq!(numbers, (Some(3000), Some(6000), Some(25)));
    assert!(!limits.render_options.techniques.summarization && limits.render_options.techniques.pagination);
    let found = refused(&yaml("context_protection: {default_page_sise: 5}\nhardCap: 700\n")).to_string();
    assert!(found.contains("unknown key `default_page_sise`"), "{found}");
    let unknown = |section: &str, expect: &str| {
        let found = refused(&yaml(&format!("context_protection: {section}"))).to_string();
        assert!(found.contains(expect) && !found.contains("defaultPageSize"), "{section}: {found}");
    };
    unknown("{default_page_sise: 5}", "did you mean `default_page_size`?");
    unknown("{pag: 5}", "did you mean `default_page_size`?");
    unknown("{colour: 5}", "write one of output_token_threshold, ");
    unknown("{endpoints: {x: {pag_size: 5}}}", "did you mean `page_size`?");
    unknown("{endpoints: {x: {colour: 5}}}", "write one of page_size, pagination_enabled, ");
    let found =
        refused(&yaml("context_protection: {default_page_size: 5}\ndefaultPageSize: 7\n")).to_string();
    assert!(found.contains("defaultPageSize repeats"), "{found}");
}

#[test]
fn the_section_has_the_keys_of_all_versions() {
    let section = "context_protection: {summarization_enabled: false, pagination_enabled: true, max_page_size: null, \
                   endpoint_overrides: {x: {pagination_enabled: false, page_size: 25, threshold: null}}}";
    let config = config(section);
    let [other, own] = ["other", "x"].map(|name| endpoint(&config, name).limits);
    let techniques = (&other.render_options.techniques, &own.render_options.techniques);
    assert!(!techniques.0.summarization && techniques.0.pagination);
    assert!(!techniques.1.summarization && !techniques.1.pagination);
    assert_eq!((own.default_page_size, own.token_budget_threshold), (Some(25), None));
}

#[test]
fn endpoints_of_the_section_and_of_the_file_are_both_kept() {
    let section =
        "context_protection: {endpoints: {a: {page_size: 25}, both: {page_size: 30, hard_cap: 6000}}}\n";
    let own = "endpoints: {b: {defaultPageSize: 35}, both: {defaultPageSize: 40}}\n";
    for (text, last) in [(format!("{section}{own}"), 40), (format!("{own}{section}"), 30)] {
        let config = config(&text);
        let size = |name: &str| endpoint(&config, name).limits.default_page_size;
        assert_eq!((size("a"), size("b"), size("both")), (Some(25), Some(35), Some(last)), "{text}");
        assert_eq!(endpoint(&config, "both").limits.hard_cap, Some(6000), "{text}");
    }
}
