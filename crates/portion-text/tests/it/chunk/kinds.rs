//! Tests which kind a text is recognised as.

use portion_text::chunk::chunker_for;

fn check(expect: &str, text: &str) {
    assert_eq!(chunker_for(text).name(), expect, "{text}");
}

/// Checks that three entries with this line are recognised as a log.
fn log(line: &str) {
    check("log", &format!("{line}\n{line}\n{line}\n"));
}

#[test]
fn stamps() {
    log("2015-10-18 18:01:47,978 INFO [main] a.b.C: created");
    log("2024-05-01T10:00:00.123Z something happened");
    log("Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure");
    log("Jul  1 09:00:55 calvisitor kernel[0]: AirPort");
    log("[Sun Dec 04 04:47:44 2005] [notice] workerEnv.init() ok");
    log("03-17 16:13:38.811  1702  2395 D WindowManager: printing");
    log("081109 203615 148 INFO dfs.DataNode: terminating");
    log("2016-09-28 04:30:30, Info                  CBS    Loaded");
    log("[2020-01-01 00:00:00] local.ERROR: oh no");
    log("17/06/09 20:10:40 INFO executor.Backend: registered");
    log("20171223-22:15:29:606|Step_LSC|30002312|onStandStepChanged 3579");
    log("[10.30 16:49:06] chrome.exe - proxy.cse.cuhk.edu.hk:5070 open");
    log("1717171717.123 some message");
    log("- 1117838570 2005.06.03 R02-M1-N0 RAS KERNEL INFO corrected");
    log("nova-api.log.1.2017-05-16_13:53:08 2017-05-16 00:00:00.008 25746 INFO nova");
    log("web_1  | 2020-01-01 10:00:00 started");
    log("[    0.123456] Linux version 6.1");
    log("E0314 12:34:56.789012    1 main.go:10] failed");
    log("54.36.149.41 - - [22/Jan/2019:03:56:14 +0330] \"GET / HTTP/1.1\" 200 30577");
    log("example.org - bob [22/Jan/2019:03:56:14 +0330] \"GET / HTTP/1.1\" 200 30577");
    log("INFO  starting");
    log("[error] cannot connect");
    log("level=info msg=\"started\"");
    log("I, [2020-01-01T10:00:00.1 #1]  INFO -- : ruby");
    log("D/Tag( 123): brief logcat");
    log("{\"ts\":1717171717,\"msg\":\"x\"}");
    log("\u{1b}[32mINFO\u{1b}[0m  coloured");
    log("<34>Oct 11 22:14:15 mymachine su: failed");
}

#[test]
fn text_with_dates_that_is_not_a_log() {
    check("markdown", "# Changes\n\n## 2024-05-01\n\n- one\n- two\n\n## 2024-04-01\n\n- three\n");
    check(
        "prose",
        "On 2024-05-01 we met at noon.\n\nWe left at 10:00:00 in the evening.\n\nThat was all we did.\n",
    );
    check("lines", "commit 1a2b\nAuthor: A\nDate:   Mon May 6 10:00:00 2024\n\n    Say so\n");
}

#[test]
fn tables_with_comments() {
    check("table", "# exported 2025\n# by a tool\nid,amount,city\n1,2,Oslo\n2,3,Rome\n3,4,Bern\n");
    check("markdown", "# Sizes\n\nA, B, and C\n\n## Notes\n\nNone.\n");
}

#[test]
fn the_rows_of_a_table_are_no_content_of_markdown() {
    let rows = "| a | 1 |\n".repeat(500);
    check("markdown", &format!("# Sizes\n\nAll.\n\n| name | size |\n|---|---|\n{rows}\n## Notes\n\nNone.\n"));
    check("markdown", &format!("All.\n\nname | size\n---|---\n{}", "a | 1\n".repeat(500)));
}

#[test]
fn documents_and_code() {
    check("markdown", "# Title\n\nText with a [link](https://example.org).\n");
    check(
        "markdown",
        "## Use\n\n```rust\nfn main() {\n    let a = 1;\n    let b = 2;\n    let c = 3;\n}\n```\n",
    );
    check("code", "# A script\n\nimport os\n\n# The first part\n\ndef f(a):\n    return a\n\nprint(f(1))\n");
    check("code", "//! A crate.\n\nuse std::fmt;\n\npub struct A;\n\nimpl A {\n    fn f(&self) {}\n}\n");
    check("prose", "It was a dark night, and it rained. Nobody was in the street.\n");
    check("lines", "src/main.rs\nsrc/lib.rs\nCargo.toml\n");
    check("lines", "");
    check("lines", "\n\n\n");
}
