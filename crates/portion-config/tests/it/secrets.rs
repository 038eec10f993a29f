//! Tests that secrets are referred to, and never written or shown.

use std::time::Duration;

use portion_config::{Config, OtlpTarget, ServerConfig, Sources, diff, live, show};

use super::{load, loaded, refused, with_options, with_variables, yaml};

const SECRET: &str = "hunter2-s3cret";

fn outside(text: &str) -> Sources {
    with_variables(yaml(text), &[("TOKEN", SECRET), ("PATH_", "x")])
}

#[test]
fn references_are_followed() {
    let config = loaded(&outside(
        "upstreams: {a: {url: 'https://x.example/mcp?key=${TOKEN}', headers: {Authorization: 'Bearer ${TOKEN}', X-Price: $$5}}, \
         b: {command: [x], env: {API_KEY: '${TOKEN}', MODE: fast, COUNT: 5}}, \
         c: {command: 'x --api-key ${TOKEN} --mode fast --key a.pem'}}",
    ));
    let [a, b, c] = config.upstreams() else { panic!("three") };
    let ServerConfig::Url { url, headers, .. } = &a.server else { panic!("a URL") };
    assert_eq!(url, &format!("https://x.example/mcp?key={SECRET}"));
    assert_eq!(headers, &[format!("Authorization: Bearer {SECRET}"), "X-Price: $5".to_owned()]);
    let ServerConfig::Command { environment, .. } = &b.server else { panic!("a command") };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(environment, &[pair("API_KEY", SECRET), pair("MODE", "fast"), pair("COUNT", "5")]);
    let ServerConfig::Command { argv: words, .. } = &c.server else { panic!("a command") };
    assert_eq!(words, &["x", "--api-key", SECRET, "--mode", "fast", "--key", "a.pem"]);
    let message = format!("{config:?}{}", show(&config, true, None));
    assert!(!message.contains(SECRET), "{message}");
    assert!(message.contains("Authorization: (set)"), "{message}");
}

#[test]
fn a_collector_url_may_be_a_reference() {
    let otlp = |text: &str, expect: OtlpTarget<'_>| {
        let config = loaded(&outside(text));
        assert!(config.otlp() == expect, "{text}");
        let message = format!("{config:?}{}", show(&config, true, None));
        assert!(!message.contains(SECRET), "{message}");
    };
    otlp("otlp: 'https://x.example/${TOKEN}'", OtlpTarget::Collector(&format!("https://x.example/{SECRET}")));
    otlp("otlp: off", OtlpTarget::Off);
    otlp("otlp: auto", OtlpTarget::Auto);
    otlp("hardCap: 12000", OtlpTarget::Auto);
    check("otlp: 'https://x.example/${NONE}'", "variable NONE, which is not set, for `otlp`");
    check("otlp: 'https://me:hunter2@x.example'", "otlp contains a user or password; remove it");
    check("otlp: 'https://me:${TOKEN}@x.example'", "for a collector OTEL_EXPORTER_OTLP_HEADERS");
    check("otlp: 'https://me:hunter2$${x@x.example'", "otlp contains a user or password; remove it");
    check("otlp: 'https://me:$$${TOKEN}@x.example'", "otlp contains a user or password; remove it");
    check("otlp: '${TOKEN}'", "otlp is not a URL; write the whole URL of a collector");
    check("otlp: localhost:4317", "otlp is not a URL; write the whole URL of a collector");
}

#[test]
fn a_shared_store_has_a_masked_password_and_needs_keys() {
    let key = "a2V5IGtleSBrZXkga2V5IGtleSBrZXkga2V5IGtleSE=";
    let shown = |store: &str, keys: &str, expect: [&str; 2]| {
        let config = loaded(&outside(&format!("store: '{store}'\ncursorKeys: '{keys}'\n")));
        let message = format!("{config:?}{}", show(&config, true, None));
        expect.iter().for_each(|word| assert!(message.contains(word), "{word}: {message}"));
        assert!(!message.contains("hunter2") && !message.contains(key), "{message}");
        (config.shared_store().map(str::to_owned), config.cursor_keys().map(str::to_owned))
    };
    let (store, keys) = shown("redis://me:hunter2@localhost/0", key, ["redis://…@localhost/0", "(set)"]);
    assert_eq!(store.as_deref(), Some("redis://me:hunter2@localhost/0"));
    assert_eq!(keys.as_deref(), Some(key));
    for password in ["hunter2/x", "a/hunter2?b#c", "hunter2@1", "?hunter2"] {
        let url = format!("redis://:{password}@localhost:1/0?prefix=a@b");
        let (store, _) = shown(&url, key, ["redis://…@localhost:1/0?prefix=a@b", "(set)"]);
        assert_eq!(store, Some(url));
    }
    for (store, place) in [
        ("redis://${TOKEN}:hunter2@localhost", "redis://…@localhost"),
        ("redis://hunter2@localhost", "redis://…@localhost"),
        ("me:hunter2@redis://localhost", "…@redis://localhost"),
    ] {
        shown(store, key, [place, "(set)"]);
    }
    let (store, _) = shown("rediss://:${TOKEN}@localhost", "/run/x.keys", ["://:${TOKEN}@", "/run/x.keys"]);
    assert_eq!(store, Some(format!("rediss://:{SECRET}@localhost")));
    for store in ["memory", "file"] {
        assert_eq!(loaded(&outside(&format!("store: {store}"))).shared_store(), None);
    }
    check("store: 'redis://:hunter2@localhost'", "openssl rand -base64 32");
    check("store: 'redis://:hunter2@localhost'", "--cursor-keys, PORTION_CURSOR_KEYS or cursorKeys");
    check("store: 'redis://:${NONE}@localhost'\ncursorKeys: x", "variable NONE, which is not set");
    let parameters = "has a parameter that is not known; the parameters are ca, a file, and prefix";
    check("store: 'redis://localhost?password=hunter2'", parameters);
    check("store: 'redis://me:x@localhost/0?prefix=a&password=hunter2'", parameters);
    check("store: fiel", "store is `fiel`, which is not a store; write memory, file, or the URL");
    check("cursorKeys: ''", "cursorKeys is ``, which is empty");
}

#[test]
fn of_a_mistyped_store_only_the_host_is_shown() {
    let check_place = |store: &str, place: &str| {
        check(&format!("store: '{store}'"), &format!("store is `{place}`, which is not a store"));
        let option = refused(&with_options(yaml("{}"), &[("store", store)])).to_string();
        assert!(option.contains(place) && !option.contains("hunter2"), "{option}");
    };
    check_place("redis:me:hunter2@h", "…@h");
    check_place("redis:/me:hunter2@h/0", "…@h/0");
    check_place("me:hunter2@h:6379", "…@h:6379");
    check_place("redis+sentinel:me:hunter2@h,i/main", "…@h,i/main");
    check_place("redis:h:6379?password=hunter2", "redis:h:6379");
    check_place(&format!("redis:me:{}@h", "hunter2".repeat(20)), "…@h");
}

#[test]
fn a_mistyped_url_is_not_shown() {
    let url = "http:/me:hunter2@x";
    check(&format!("upstreams: {{a: {{url: '{url}'}}}}"), "url of the upstream a is not a URL");
    check(&format!("otlp: '{url}'"), "otlp is not a URL");
    check(&format!("alertWebhook: '{url}'"), "alertWebhook is not a URL");
    check(&format!("publicUrl: '{url}'"), "publicUrl is not a URL of a host");
    check(&format!("auth: jwt\njwksUrl: '{url}'"), "is not a URL");
}

#[test]
fn a_text_that_may_be_a_url_has_no_password() {
    let problem = "contains a user or password; remove it";
    check("jwtIssuer: 'https://me:hunter2@issuer.example'", problem);
    check("upstreams: {a: {openapi: 'https://me:hunter2@x/openapi.json'}}", problem);
    for issuer in ["https://issuer.example/@me", "robot@issuer.example"] {
        let text = format!("{{auth: jwt, jwtIssuer: '{issuer}', jwtAudience: a, jwksUrl: 'https://x/keys'}}");
        assert!(show(&loaded(&yaml(&text)), false, None).contains(issuer), "{issuer}");
    }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let errors = refused(&outside(text));
    let message = format!("{errors} {errors:?}");
    assert!(message.contains(expect), "{expect}: {message}");
    assert!(!message.contains(SECRET), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn literal_secrets_are_rejected_and_not_shown() {
    let refer = "use a reference: ${NAME} for an environment variable";
    check("upstreams:\n  a:\n    url: http://x/\n    headers:\n      Authorization: hunter2\n", refer);
    check("upstreams: {a: {url: 'http://x/', headers: {Cookie: hunter2}}}", "contains a secret in `Cookie`");
    check("upstreams: {a: {url: 'http://x/', headers: {X-Api-Key: hunter2}}}", refer);
    check("upstreams: {a: {command: x, env: {GITHUB_TOKEN: hunter2}}}", refer);
    check("upstreams: {a: {command: x, env: {DB_PASSWORD: hunter2}}}", refer);
    check("upstreams: {a: {command: 'x --api-key hunter2'}}", "contains a secret in `command`");
    check("upstreams: {a: {command: [env, DB_PASSWORD=hunter2, x]}}", "contains a secret in `command`");
    check("upstreams: {a: {command: [x, --password=hunter2]}}", "contains a secret in `command`");
    check("upstreams: {a: {url: 'http://x/?api_key=hunter2'}}", refer);
    check("alertWebhook: 'http://x/?token=hunter2'", refer);
    check("alertWebhook: 'http://${NONE}/hunter2'", "variable NONE, which is not set, for `alertWebhook`");
    check("alertWebhook: 'hunter2'", "alertWebhook is not a URL");
}

#[test]
fn a_url_has_no_credentials_and_the_remedy_is_a_header() {
    let header = "contains a user or password; remove it; for a server, set headers, such as {Authorization: 'Basic ${NAME}'}";
    check("upstreams: {a: {url: 'http://me:hunter2@x/'}}", header);
    check("upstreams: {a: {url: 'http://me:${TOKEN}@x/'}}", header);
    check("upstreams: {a: {url: 'http://me:${file:/run/secrets/x}@x/'}}", header);
    check("alertWebhook: 'http://me:hunter2@x/'", "alertWebhook contains a user or password; remove it");
    let text = "upstreams: {a: {url: '${ADDRESS}'}}";
    let errors = refused(&with_variables(yaml(text), &[("ADDRESS", "http://me:hunter2@x/")])).to_string();
    assert!(errors.contains(&format!("url of the upstream a {header}")), "{errors}");
    assert!(!errors.contains("hunter2"), "{errors}");
}

#[test]
fn only_the_host_of_a_webhook_is_shown() {
    let webhook = |url: &str| loaded(&outside(&format!("alertWebhook: '{url}'")));
    let check_shown = |url: &str, expect: &str| {
        let config = webhook(url);
        assert!(config.alerts().webhook_url.is_some(), "{url} is posted to");
        let shown = show(&config, false, None);
        assert!(shown.contains(&format!("alertWebhook: \"{expect}\"\n")), "{url}: {shown}");
    };
    check_shown("https://hooks.example/services/T0/hunter2", "https://hooks.example/…");
    check_shown("https://hooks.example:8443?hunter2", "https://hooks.example:8443/…");
    check_shown("http://${PATH_}/hunter2", "http://${PATH_}/…");
    check_shown("https://hooks.example/", "https://hooks.example/");
    check_shown("https://hooks.example/${TOKEN}", "https://hooks.example/${TOKEN}");
    check_shown("https://hooks.example/${PATH_}/${TOKEN}", "https://hooks.example/${PATH_}/${TOKEN}");
    check_shown("https://hooks.example/T0/hunter2/${TOKEN}", "https://hooks.example/…/${TOKEN}");
    check_shown(
        "https://hooks.example/${TOKEN}/hunter2?x=${PATH_}&hunter2",
        "https://hooks.example/${TOKEN}/…${PATH_}…",
    );
    check_shown("https://hooks.example/hunter2$$${TOKEN}", "https://hooks.example/……${TOKEN}");

    let (one, other) = (webhook("https://hooks.example/hunter2"), webhook("https://hooks.example/hunter3"));
    for changes in
        [diff(&one, &other), live::restart_required(&one, &other), diff(&webhook("http://a/"), &other)]
    {
        assert_eq!(changes.iter().map(|change| &*change.key).collect::<Vec<_>>(), ["alertWebhook"]);
        assert!(!format!("{changes:?}").contains("hunter"), "{changes:?}");
    }
    assert!(diff(&one, &webhook("https://hooks.example/hunter2")).is_empty());
}

#[test]
fn the_query_of_a_url_is_not_shown() {
    let check_shown = |url: &str, expect: &str| {
        let config = loaded(&outside(&format!("otlp: '{url}'\nupstreams: {{a: {{url: '{url}'}}}}")));
        let shown = show(&config, false, None);
        assert!(shown.contains(&format!("otlp: \"{expect}\"\n")), "{url}: {shown}");
        assert!(shown.contains(&format!("url: \"{expect}\"\n")), "{url}: {shown}");
        let changes = diff(&loaded(&yaml("{}")), &config);
        assert!(!format!("{changes:?}").contains("hunter2"), "{url}: {changes:?}");
    };
    check_shown("http://h/a/b", "http://h/a/b");
    check_shown("http://h/a?x=hunter2", "http://h/a?…");
    check_shown("http://h/a?hunter2", "http://h/a?…");
    check_shown("http://h/?x=${TOKEN}", "http://h/?x=${TOKEN}");
    check_shown("http://h/?x=${TOKEN}&y=hunter2&z=${PATH_}", "http://h/?x=${TOKEN}&…&z=${PATH_}");
    check_shown("http://h/?x=hunter2${TOKEN}", "http://h/?…${TOKEN}");
    check_shown("http://h/?x=${TOKEN}#hunter2", "http://h/?…${TOKEN}…");
    check_shown("http://h/a#hunter2", "http://h/a…");
    check_shown("http://h/$${a?x=hunter2", "http://h/$${a?…");
}

#[test]
fn a_webhook_may_be_a_reference() {
    let config = loaded(&outside("alertWebhook: 'https://x/${TOKEN}'"));
    assert_eq!(config.alerts().webhook_url, Some(format!("https://x/{SECRET}")));
    assert!(!format!("{:?} {}", config.alerts(), show(&config, true, None)).contains(SECRET));
    let off = loaded(&yaml("{alertOversized: off, alertWebhook: none}")).alerts();
    assert_eq!((off.oversized_percent, off.webhook_url), (None, None));
    let more = loaded(&yaml("{alertOversized: 7.5, alertWindow: 1h}")).alerts();
    assert_eq!((more.oversized_percent, more.window), (Some(7.5), Duration::from_hours(1)));
}

#[test]
fn unresolved_references_are_named() {
    check(
        "upstreams: {a: {url: 'http://x/', headers: {A: '${NONE}'}}}",
        "variable NONE, which is not set, for `A`",
    );
    check("upstreams: {a: {url: 'http://x/', headers: {A: '${file:/nowhere}'}}}", "the file /nowhere");
    check("upstreams: {a: {url: 'http://x/', headers: {A: '$hunter2'}}}", "for a literal $, $$");
    check("upstreams: {a: {url: '${TOKEN}'}}", "write the whole URL");
}

#[test]
fn references_may_stay_unresolved() {
    let sources = yaml("upstreams: {a: {url: 'http://x/', headers: {A: '${NONE}'}}}");
    assert!(Config::load(&sources, 1).is_ok());
}

#[test]
fn lines_that_may_hold_secrets_are_not_shown() {
    check(
        "upstreams: {a: {url: 'http://x/', headers: {A: hunter2}, hardCap: hunter2}}",
        "hardCap is not a whole number",
    );
    check("upstream:\n  a: {headers: {Authorization: hunter2}}\nhardCap: x", "did you mean `upstreams`?");
    check("{headers: {Authorization: hunter2}, hardCap: x}", "`headers` is not allowed at the top");
    check("upstreams: {a: {command: [x], env: {TOKEN: hunter2}}}\nhardCap: x", "hardCap is `x`");
    check("upstreams: {a: {command: [x], env: {TOKEN: 'hunter2}}}\nhardCap: x", "not valid YAML");
    check("upstreams: {a: {command: [x], env: [hunter2]}}", "env is a list");
    check("upstreams: {a: {command: [x], env: hunter2}}", "env is text");
    check("upstreams: {a: {command: [x], hunter: {hunter: hunter2}}}", "unknown key");
    check("upstreams: {a: {command: \"x 'hunter2\"}}", "is not a command line");
    check("upstreams: {a: hunter2}", "`a` is text, not a map");
    check("- hunter2", "the file is a list");
}

#[test]
fn a_server_is_either_a_url_or_a_command() {
    check("upstreams: {a: {}}", "the upstream a has neither url nor command");
    check("upstreams: {a: {url: 'http://x/', command: x}}", "the upstream a has both url and command");
    check(
        "upstreams: {a: {url: 'http://x/', env: {A: b}}}",
        "env of the upstream a has no effect without command",
    );
    check(
        "upstreams: {a: {command: x, transport: sse}}",
        "transport of the upstream a has no effect without url",
    );
    check("upstreams: {a/b: {command: x}}", "is not valid in a path");
    check("upstreams: {a: {url: 'ftp://x/'}}", "write the whole URL");
    check(
        "upstreams: {a: {url: 'http://x/', headers: {'A B': c}}}",
        "have `A B`, which is not valid in HTTP",
    );
}

#[test]
fn changed_secrets_are_reported_without_their_values() {
    let text = "upstreams: {a: {url: 'http://x/', headers: {Authorization: '${TOKEN}', B: '${TOKEN}'}}}";
    let one = loaded(&with_variables(yaml(text), &[("TOKEN", SECRET)]));
    let other = loaded(&with_variables(yaml(text), &[("TOKEN", "hunter3")]));
    let changes = diff(&one, &other);
    let keys: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
    assert_eq!(keys, ["upstreams.a.headers.Authorization", "upstreams.a.headers.B"]);
    assert!(!format!("{changes:?}").contains("hunter"));
    assert!(load(&yaml(text)).is_ok_and(|config| !diff(&config, &one).is_empty()));
}
