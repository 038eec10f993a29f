//! Tests the errors of an invalid configuration: all at once, each with its place and a remedy.

use std::fmt::Write as _;

use portion_config::{Config, Sources};

use super::{file, load, refused, with_options, with_variables, yaml};

/// Asserts that the errors of the sources contain the lines of `expect`, in this order, and that there
/// are no others.
#[track_caller]
fn check(sources: &Sources, expect: &[&str]) {
    let errors = refused(sources);
    let messages: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    assert_eq!(messages, expect, "\n{errors}");
}

#[test]
fn all_errors_are_reported_at_once() {
    check(
        &yaml(
            "hardcap: 1\nhardCap: lots\nrollout: 130\nendpoints:\n  list_*:\n    pagSize: 5\n    rows: table\n    listen: x\n",
        ),
        &[
            "portion.yaml:1:1: unknown key `hardcap`; did you mean `hardCap`?",
            "portion.yaml:2:10: hardCap is `lots`, which is not a whole number; write a whole number from 600, such as 12000",
            "portion.yaml:3:10: rollout is `130`, which is not a percentage; write a percentage from 0 to 100, such as 100",
            "portion.yaml:6:5: unknown key `pagSize`; did you mean `pageSize`?",
            "portion.yaml:7:11: rows is `table`, which is not known; did you mean tables? Allowed: objects, auto or tables",
            "portion.yaml:8:5: `listen` is not allowed at an endpoint; write it at the top",
        ],
    );
}

#[test]
fn principal_headers_must_be_valid_names() {
    let fix = "list header names, such as Authorization and X-API-Key";
    let odd = "portion.yaml:1:1: principalHeaders has `X Key`, which is not a header name";
    check(&yaml("principalHeaders: [Authorization, X Key]\n"), &[&format!("{odd}; {fix}")]);
    check(&yaml("principalHeaders: []\n"), &[&format!("portion.yaml:1:1: principalHeaders is empty; {fix}")]);
}

#[test]
fn allowed_hosts_and_origins_can_match() {
    let fix = "which matches no request; write NAME, NAME:PORT, or an address with an IPv6 address in brackets; * alone is every host";
    check(
        &yaml("allowHosts: ['*.example.com', a.example, '192.0.2.7:80', '[::1]', '::1']\n"),
        &[
            &format!("portion.yaml:1:1: allowHosts has `*.example.com`, {fix}"),
            &format!("portion.yaml:1:1: allowHosts has `::1`, {fix}"),
        ],
    );
    let fix = "which matches no request; write an origin as browsers send it, such as https://app.example.com, without path, default port and *; * alone is every origin";
    let option = with_options(yaml("{}"), &[("allowOrigins", "https://*.example.com,https://a.example")]);
    check(&option, &[&format!("--allow-origin: allowOrigins has `https://*.example.com`, {fix}")]);
    let path = yaml("allowOrigins: 'https://me:hunter2@a.example/x'\n");
    check(&path, &[&format!("portion.yaml:1:1: allowOrigins has `https://a.example/x`, {fix}")]);
}

#[test]
fn every_host_or_origin_is_a_warning() {
    let text = "allowHosts: '*'\nallowOrigins: ['*', 'https://a.example']\n";
    let (config, warnings) = Config::load(&yaml(text), 1).expect("a valid configuration");
    let messages: Vec<String> = warnings.0.iter().map(ToString::to_string).collect();
    let expect = [
        "portion.yaml:1:1: allowHosts has `*`: every name is accepted as Host, and DNS rebinding is not prevented; list the names",
        "portion.yaml:2:1: allowOrigins has `*`: every web page can send requests, and read responses of portion serve; list the origins",
    ];
    assert_eq!(messages, expect);
    assert_eq!((config.allow_hosts(), config.allow_origins().len()), (vec!["*".to_owned()], 2));
}

#[test]
fn values_of_the_wrong_type_are_errors() {
    check(
        &yaml(
            "hardCap: '4000'\nchunkLines: [1]\npagination: yes\nsnapshotTtl: 600\nhardByteLimit: 5\nquery:\nsort: {}\nwarnAt: 2\n\
             fullBelow: -1\nupstreamMessageLimit: 4GiB\nredact: ['*']\nreadTool: a b\nlisten: here\nexperiment: maybe\nsections: {a: []}\n\
             items: true\n",
        ),
        &[
            "portion.yaml:1:10: hardCap is `4000`, which is text; write 4000 without quotes",
            "portion.yaml:2:13: chunkLines is a list; write a whole number from 1",
            "portion.yaml:3:13: pagination is `yes`, which is neither true nor false; write true or false",
            "portion.yaml:4:14: snapshotTtl is `600`, which is not a duration; write a number with a unit, such as 90s, 10m or 1h",
            "portion.yaml:5:16: hardByteLimit is `5`, which is too small; write a size from 4KiB, such as 64KiB or 5MiB",
            "portion.yaml:6:6: query has no value; write one, or remove the key",
            "portion.yaml:7:7: sort is a map; write text or none",
            "portion.yaml:8:9: warnAt is `2`, which is out of range; write a number above 0 and at most 1, such as 0.8",
            "portion.yaml:9:12: fullBelow is `-1`, which is too small; write a whole number from 0, such as 500",
            "portion.yaml:10:23: upstreamMessageLimit is `4GiB`, which is too large; write a size from 64KiB to below 4GiB, such as 64KiB or 5MiB",
            "portion.yaml:11:9: redact is invalid: `*` matches everything: name the members, such as password,guest.phone,*Code; list field names, such as [password, guest.phone, '*Code'], or write none",
            "portion.yaml:12:11: readTool is `a b`, which is not a tool name; write 1 to 64 letters, digits, `_` or `-`",
            "portion.yaml:13:9: listen is `here`, which is not an address; write an address and a port, such as 127.0.0.1:8765 or localhost:8765",
            "portion.yaml:14:13: experiment is `maybe`, which is not an experiment; write none, shadow or {split: 50}",
            "portion.yaml:15:15: sections has a section without fields; name its fields",
            "portion.yaml:16:8: items is `true`, which is not text; write text, in quotes if it is this word",
        ],
    );
}

#[test]
fn unknown_presets_are_errors_in_every_form() {
    let message = |place: &str, given: &str, meant: &str| {
        format!(
            "{place}: redact is invalid: `{given}` is not a preset; did you mean `{meant}`? To redact a field of \
             that name, write `{given}*`; list field names, such as [password, guest.phone, '*Code'], or write none"
        )
    };
    let check_all = |sources: &Sources, expect: &[String]| {
        check(sources, &expect.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let named = |place: &str| {
        message(place, "secret", "secrets").replace("redact is", "redact is `secret`, which is")
    };
    check_all(&yaml("redact: secret"), &[named("portion.yaml:1:9")]);
    check_all(&yaml("redact: [phone, secret]"), &[message("portion.yaml:1:9", "secret", "secrets")]);
    check_all(&yaml("endpoints: {list_*: {redact: secret}}"), &[named("portion.yaml:1:30")]);
    let alone = "portion.yaml:1:9: redact is invalid: `none` hides nothing, so it stands alone: leave it out of the list, or \
                 write none without others; list field names, such as [password, guest.phone, '*Code'], or write none";
    check_all(&yaml("redact: [secrets, none]"), &[alone.to_owned()]);
    check_all(&with_options(yaml("{}"), &[("redact", "secret")]), &[named("--redact")]);
    check_all(&with_variables(yaml("{}"), &[("PORTION_REDACT", "secret")]), &[named("PORTION_REDACT")]);
    // The keywords of other keys are checked for misspellings in the same way.
    let list = |given: &str, meant: &str| {
        format!(
            "`{given}`, which is not known; did you mean {meant}? To use it as a name, write a list: [{given}]"
        )
    };
    check_all(
        &yaml("stripFields: usuall"),
        &[format!("portion.yaml:1:14: stripFields is {}", list("usuall", "usual"))],
    );
    check_all(
        &yaml("advertise: list"),
        &[format!("portion.yaml:1:12: advertise is {}", list("list", "lists"))],
    );
}

#[test]
fn contradictory_limits_are_reported_with_both_places() {
    check(
        &yaml(
            "hardCap: 3000\nmaxPageSize: 20\nendpoints:\n  list_*:\n    hardCap: 5000\n  list_all:\n    tokenBudgetThreshold: 6000\n    pageSize: 10\n    fallbackByteLimit: 70000\n",
        ),
        &[
            "portion.yaml:1:1: hardCap is 3000, below tokenBudgetThreshold, which is 4000 (default); raise hardCap or lower tokenBudgetThreshold",
            "portion.yaml:2:1: maxPageSize is 20, below defaultPageSize, which is 50 (default); raise maxPageSize or lower defaultPageSize",
            "portion.yaml:7:5: tokenBudgetThreshold is 6000 for the endpoint list_all, above hardCap, which is 5000 (portion.yaml:5:5); raise hardCap or lower tokenBudgetThreshold",
            "portion.yaml:9:5: fallbackByteLimit is 70000 for the endpoint list_all, above hardByteLimit, which is 65536 (default); raise hardByteLimit or lower fallbackByteLimit",
        ],
    );
    check(
        &yaml("{profile: soft, maxPageSize: 100}"),
        &[
            "portion.yaml:1:17: maxPageSize is 100, below defaultPageSize, which is 200 (profile soft); raise maxPageSize or lower defaultPageSize",
        ],
    );
    let option = with_options(yaml("hardCap: 5000"), &[("tokenBudgetThreshold", "6000")]);
    check(
        &option,
        &[
            "--token-budget-threshold: tokenBudgetThreshold is 6000, above hardCap, which is 5000 (portion.yaml:1:1); raise hardCap or lower tokenBudgetThreshold",
        ],
    );
}

#[test]
fn a_file_without_content_means_the_defaults() {
    for (sources, name) in [
        (yaml(""), "portion.yaml"),
        (yaml("# nothing\n"), "portion.yaml"),
        (yaml("---\n"), "portion.yaml"),
        (file("portion.json", " "), "portion.json"),
    ] {
        let (config, warnings) = Config::load(&sources, 1).expect("strange, not wrong");
        let messages: Vec<String> = warnings.0.iter().map(ToString::to_string).collect();
        let expect = "the file is empty: a process that starts uses the defaults, and a running one keeps its configuration; write {} to mean the defaults";
        assert!(
            messages.len() == 1 && messages[0].starts_with(name) && messages[0].ends_with(expect),
            "{messages:?}"
        );
        assert_eq!(config.top().iter().count(), 0);
    }
}

#[test]
fn syntax_errors_have_a_position() {
    check(
        &yaml("[a]"),
        &["portion.yaml:1:1: the file is a list, not a map; write keys and values, such as hardCap: 12000"],
    );
    check(
        &yaml("hardCap: 5000\nhardCap: 6000\n"),
        &["portion.yaml:2:1: `hardCap` is given twice, first in line 1; remove one of the two"],
    );
    check(
        &file("portion.json", "{\n  \"hardCap\": 5000,\n}"),
        &["portion.json:3:1: this is not valid JSON: trailing comma; correct it here or just before"],
    );
    check(
        &file("portion.json", "{\n  \"hard_cap\": \"5000\"}"),
        &["portion.json:2:3: unknown key `hard_cap`; did you mean `hardCap`?"],
    );
    check(
        &yaml("a: &a [*a]"),
        &["portion.yaml:1:8: this alias refers to a value that contains it; write the value instead"],
    );
    check(
        &yaml("hardCap: 5000\n---\nhardCap: 6000\n"),
        &["portion.yaml:2:1: a second document begins here; write one document, without `---`"],
    );
    check(
        &yaml("hardCap: !x 5000"),
        &["portion.yaml:1:10: tags are not supported; write the value without the tag"],
    );
    check(
        &yaml("endpoints: {a: {pageSize: 1, defaultPageSize: 2}}"),
        &["portion.yaml:1:30: defaultPageSize repeats pageSize at portion.yaml:1:17; remove one of the two"],
    );
}

#[test]
fn alias_bombs_are_rejected() {
    let mut bomb = String::from("a: &a0 [x]\n");
    for i in 1..40 {
        let _ = writeln!(bomb, "b{i}: &a{i} [*a{0}, *a{0}, *a{0}]", i - 1);
    }
    let message = refused(&yaml(&bomb)).to_string();
    assert!(message.contains("too many values"), "{message}");
    for deep in ["[".repeat(500_000), "- ".repeat(500_000), "{a: ".repeat(200_000), "? ".repeat(500_000)] {
        assert!(load(&yaml(&deep)).is_err());
        assert!(load(&file("portion.json", &deep)).is_err());
    }
    assert!(load(&yaml(&"x".repeat(2 << 20))).is_err());
}

#[test]
fn variables_and_options_are_named() {
    let sources = with_variables(
        Sources::default(),
        &[("PORTION_HARD_CAP", "lots"), ("PORTION_ENDPOINTS", "{a: {b: 1}}")],
    );
    check(
        &with_options(sources, &[("warnAt", "x"), ("sections", "{a")]),
        &[
            "PORTION_ENDPOINTS: unknown key `b`; see `portion config schema` for the keys",
            "PORTION_HARD_CAP: hardCap is `lots`, which is not a whole number; write a whole number from 600, such as 12000",
            "--sections: sections cannot be read: this is not valid YAML: while parsing a flow mapping, did not find expected ',' or '}'; write it as YAML",
            "--warn-at: warnAt is `x`, which is not a number; write a number above 0 and at most 1, such as 0.8",
        ],
    );
}

#[test]
fn unknown_variables_are_reported() {
    let variables = [
        ("PORTION_HARDCAP", "5000"),
        ("PORTION_CHUNK_SIZE", ""),
        ("PORTION_LOG", "x"),
        ("PORTION_BIN", "x"),
        ("PORTION_LEAN", "1"),
        ("PORTION_VERBOSE", "1"),
    ];
    let (_, warnings) = Config::load(&with_variables(yaml("{}"), &variables), 1).expect("strange, not wrong");
    let messages: Vec<String> = warnings.0.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "PORTION_CHUNK_SIZE: PORTION_CHUNK_SIZE is empty and ignored; set a value, or unset it",
            "PORTION_HARDCAP: PORTION_HARDCAP is not a variable of Portion and is ignored; did you mean PORTION_HARD_CAP?",
            "PORTION_LEAN: PORTION_LEAN is not a variable of Portion and is ignored; did you mean PORTION_PROFILE=lean?",
            "PORTION_LOG: PORTION_LOG is `x`, which is not a level, and is ignored; write off, error, warn, info, debug or trace",
            "PORTION_VERBOSE: PORTION_VERBOSE is not a variable of Portion and is ignored; did you mean PORTION_LOG_LEVEL=info?",
        ]
    );
}

#[test]
fn the_line_is_shown_with_a_mark() {
    let message = refused(&yaml("rows: auto\nendpoints:\n\tx: y\n")).to_string();
    assert!(!message.contains(" | "), "{message}");
    let message = refused(&yaml("rows: auto\nhardCap:   lots # many\n")).to_string();
    assert!(message.ends_with("\n  2 | hardCap:   lots # many\n    |            ^"), "{message}");
}
