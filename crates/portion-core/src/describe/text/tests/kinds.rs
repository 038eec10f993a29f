//! Descriptions of texts of each kind.

use std::fmt::Write as _;

use serde_json::Map;

use super::{check, described};

fn service() -> String {
    let mut log = String::from("2024-05-01 10:00:00 INFO [main] a.b.App: started\n");
    for second in 1..40 {
        let _ = writeln!(
            log,
            "2024-05-01 10:00:{second:02} INFO [pool-{second}] a.b.Job: job {second} done in {second} ms"
        );
    }
    log += "2024-05-01 10:01:00 WARN [main] a.b.Job: failed once, trying again\n\
            2024-05-01 10:01:01 ERROR [main] a.b.Job: gave up\njava.net.ConnectException: refused\n\tat a.b.Job.run(Job.java:7)\n\
            Caused by: java.io.IOException: no\n\tat a.b.C.d(C.java:9)\n2024-05-01 10:01:02 INFO [main] a.b.App: stopped\n";
    log
}

#[test]
fn logs() {
    check(
        &service(),
        400,
        r#"
        levels: {"ERROR":1,"WARN":1,"INFO":41}
        linesWith: {"failed":1}
        entries: 43
        span: "2024-05-01 10:00:00 … 2024-05-01 10:01:02"
        perDay: {"2024-05-01":43}
        first: {"ERROR":"42: 2024-05-01 10:01:01 ERROR [main] a.b.Job: gave up","failed":"41: 2024-05-01 10:01:00 WARN [main] a.b.Job: failed once, trying again","WARN":41}
        last: "2024-05-01 10:01:02 INFO [main] a.b.App: stopped"
        thrown: {"java.net.ConnectException":1,"java.io.IOException":1}
        common: ["39 × [#] a.b.Job: job # done in # ms"]
        "#,
    );
}

#[test]
fn entries_are_counted_by_day() {
    let mut log = String::new();
    for (day, count) in [("Jun 14", 3), ("Jun 15", 5), ("Jun  9", 1)] {
        for second in 10..10 + count {
            let _ = writeln!(log, "{day} 23:23:{second} combo sshd[264]: session opened");
        }
    }
    let facts = described(&log, 400);
    assert_eq!(facts["perDay"].to_string(), r#"{"Jun 14":3,"Jun 15":5,"Jun  9":1}"#, "{facts:?}");
    let mut log = String::new();
    for day in 1..=28 {
        for second in 10..40 - day {
            let _ = writeln!(log, "2024-05-{day:02} 10:00:{second} INFO [main] a.B: job done");
        }
    }
    let facts = described(&log, 300);
    let days = facts["perDay"].as_object().expect("days");
    assert_eq!(
        (days.keys().next().map(String::as_str), &days["2024-05-01"]),
        (Some("2024-05-01"), &29.into())
    );
    assert_eq!(days["more"].as_u64().map(|more| more as usize + days.len() - 1), Some(28), "{days:?}");
    assert!(facts.contains_key("common"), "{facts:?}");
}

#[test]
fn columns_that_have_no_place_are_named_by_type() {
    let mut rows = String::from("id,name,born,amount,code,a long column,another long column\n");
    for row in 0..40 {
        let _ = writeln!(rows, "{row},Name {row},2024-05-{:02},{row}.5,00{row},x,y", row % 28 + 1);
    }
    let facts = described(&rows, 1_000);
    assert_eq!(facts["columns"]["born"], "2024-05-01…2024-05-28");
    assert_eq!(facts["columns"]["amount"], "number 0.5…39.5 (max at 39), sum 800");
    assert_eq!(facts["moreColumns"]["string"], "name,code", "{facts:?}");
    let facts = described(&rows, 80);
    let named = facts["columns"].as_object().map_or(0, Map::len);
    assert!(named > 0 && named < 7 && facts.contains_key("moreColumns"), "{facts:?}");
}

#[test]
fn the_first_line_of_a_level_is_told_once() {
    let mut log = String::new();
    for second in 10..40 {
        let _ = writeln!(log, "Jul 25 23:23:{second} combo xinetd[26482]: warning: no address");
    }
    let facts = described(&log, 400);
    assert!(facts["levels"].get("warning").is_some(), "{facts:?}");
    assert!(facts["first"].get("warning").is_some() && facts["first"].get("warn").is_none(), "{facts:?}");
    assert!(!facts.contains_key("linesWith"), "{facts:?}");
}

#[test]
fn a_page_that_ends_with_a_script_has_no_last_words() {
    let scripts = "<script></script>\n".repeat(500);
    let page = format!("<html><body><h1>Title</h1><p>Words.</p>\n{scripts}</body></html>");
    let facts = described(&page, 400);
    assert!(facts.contains_key("outline") && !facts.contains_key("last"), "{facts:?}");
}

#[test]
fn a_table_that_fills_a_document_is_described() {
    let rows = |form: fn(usize) -> String| (1..=200).map(form).collect::<String>();
    let pipe = rows(|i| format!("| Item {i} | {} |\n", 2 * i));
    let document = format!("# Stock\n\nShort.\n\n| Item | Count |\n|---|---:|\n{pipe}\n## Notes\n\nNone.\n");
    let cells = rows(|i| format!("<tr><td>Item {i}</td><td>{}</td></tr>\n", 2 * i));
    let page = format!(
        "<html><body><h1>Stock</h1>\n<table><tr><th>Item</th><th>Count</th></tr>\n{cells}</table>\n<h2>Notes</h2>None.</body></html>"
    );
    for (text, outline) in [
        (&document, r###"["# Stock","## Notes"]"###),
        (&page, r#"["1: # Stock","204: ## Notes"]"#),
        (&page.replace('\n', ""), r###"["# Stock","## Notes"]"###),
    ] {
        let facts = described(text, 400);
        assert_eq!(
            (facts["outline"].to_string().as_str(), &facts["rows"]),
            (outline, &200.into()),
            "{facts:?}"
        );
        assert_eq!(facts["columns"]["Count"], "number 2…400 (max at Item 200), sum 40200", "{facts:?}");
        assert!(!facts.contains_key("common"), "{facts:?}");
    }
}

#[test]
fn diffs_count_files_without_hunks() {
    let change = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n";
    let image = "diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n";
    let renamed = "diff --git a/y b/z\nsimilarity index 100%\nrename from y\nrename to z\n";
    check(
        &format!("{change}{image}{renamed}"),
        400,
        r#"
        changes: "3 files, +1 -0 lines"
        files: ["1: x +1 -0","7: i.png binary","10: z +0 -0"]
        "#,
    );
    let head = |hash: &str| format!("commit {hash}\nAuthor: A <a@b>\n\n    Message\n\n");
    check(
        &format!("{}{change}{image}\n{}{change}", head("1111111"), head("2222222")),
        400,
        r#"
        changes: "3 changes of 2 files in 2 commits, +2 -0 lines"
        files: ["6: x +1 -0","12: i.png binary","21: x +1 -0"]
        "#,
    );
}

#[test]
fn small_budgets() {
    check(
        &service(),
        60,
        r#"
        levels: {"ERROR":1,"WARN":1,"INFO":41}
        linesWith: {"failed":1}
        entries: 43
        thrown: {"java.net.ConnectException":1,"java.io.IOException":1}
        "#,
    );
    check(&service(), 10, "entries: 43");
    check(&service(), 0, "");
}

#[test]
fn access_logs() {
    let line = |(second, (path, status)): (usize, &(&str, u16))| {
        format!(
            r#"10.0.0.{second} - - [22/Jan/2019:03:56:{second:02} +0330] "GET {path} HTTP/1.1" {status} 5667 "-" "curl""#
        )
    };
    let requests = [("/", 200), ("/a?b=1", 200), ("/a?b=2", 404), ("/a", 200), ("/error", 500)];
    check(
        &requests.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"),
        300,
        r#"
        span: "22/Jan/2019:03:56:00 +0330 … 22/Jan/2019:03:56:04 +0330"
        perDay: {"22/Jan/2019":5}
        last: "10.0.0.4 - - [22/Jan/2019:03:56:04 +0330] \"GET /error HTTP/1.1\" 500 5667 \"-\" \"curl\""
        statuses: {"200":3,"404":1,"500":1}
        commonPaths: ["3 × /a"]
        "#,
    );
}

#[test]
fn letters() {
    let lines = ["D Window: a", "E Parcel: b", "D Window: c", "I Power: d"];
    let lines =
        lines.iter().enumerate().map(|(n, message)| format!("03-17 16:13:3{n}.811  1702  2395 {message}\n"));
    check(
        &lines.collect::<String>(),
        300,
        r#"
        levels: {"E":1,"I":1,"D":2}
        span: "03-17 16:13:30.811 … 03-17 16:13:33.811"
        perDay: {"03-17":4}
        first: {"E":"2: 03-17 16:13:31.811  1702  2395 E Parcel: b"}
        last: "03-17 16:13:33.811  1702  2395 I Power: d"
        "#,
    );
}

#[test]
fn documents() {
    let text = "# Guide\n\nWords.\n\n## Install\n\nMore **words**.\n\n```sh\n# no heading\n```\n\n### From source\n\nWords.\n\n\
                        ## Use\n\nThe last words of the guide.\n";
    check(
        text,
        200,
        r####"
        headings: 4
        outline: ["# Guide","## Install","### From source","## Use"]
        last: "…More **words**. ```sh # no heading ``` ### From source Words. ## Use The last words of the guide."
        "####,
    );
    check(
        text,
        40,
        r#"
        headings: 4
        last: "…### From source Words. ## Use The last words of the guide."
        "#,
    );
}

#[test]
fn prose() {
    let text = "The river had risen for three days before the town took notice. On the first morning the ferryman tied his boat \
                        to the old willow and said nothing. Nobody asks a ferryman about the river. By the second evening the lower \
                        streets of the town were under water, and the mayor called a meeting. The ferryman came late to the meeting, \
                        with mud on his boots. He told the mayor that the river would rise for two more days. The mayor laughed, for \
                        the river had never reached the church. On the fifth day the ferryman rowed the mayor from the steps of the \
                        church to the hill. It was quiet there.";
    check(
        text,
        150,
        r#"
        gist: "The river had risen for three days before the town took notice. On the first morning the ferryman tied his boat to the old willow and said nothing. … By the second evening the lower streets of the town were under water, and the mayor called a meeting. The ferryman came late to the meeting, with mud on his boots. … The mayor laughed, for the river had never reached the church. On the fifth day the ferryman rowed the mayor from the steps of the church to the hill."
        last: "…the mayor from the steps of the church to the hill. It was quiet there."
        "#,
    );
}

#[test]
fn transcripts() {
    let turns = [
        "Ann: Shall we begin with the budget of the coming year?",
        "Bo: Yeah.",
        "Ann: The budget has grown by a tenth since last year.",
        "Cy: Which part of the budget has grown the most?",
        "Bo: The machines, I think.",
    ];
    check(
        &turns.repeat(3).join(" "),
        150,
        r#"
        gist: "Ann: Shall we begin with the budget of the coming year? … Ann: The budget has grown by a tenth since last year. Cy: Which part of the budget has grown the most?"
        speakers: {"Ann":6,"Bo":6,"Cy":3}
        last: "…Which part of the budget has grown the most? Bo: The machines, I think."
        "#,
    );
}

#[test]
fn chinese() {
    let text = "春天来了，河边的柳树发出了新芽。小明的父亲是一名工程师，他在城里的一家工厂工作。工厂生产的机器主要出口到欧洲。\
                        今年工厂的订单减少了，很多工人担心失去工作。经理说，工厂将开发新的机器，以应对市场的变化。";
    check(
        text,
        120,
        r#"
        gist: "小明的父亲是一名工程师，他在城里的一家工厂工作。工厂生产的机器主要出口到欧洲。今年工厂的订单减少了，很多工人担心失去工作。经理说，工厂将开发新的机器，以应对市场的变化。"
        last: "…订单减少了，很多工人担心失去工作。经理说，工厂将开发新的机器，以应对市场的变化。"
        "#,
    );
}

#[test]
fn tables() {
    check(
        "id,name,city\n1,\"Lee, Ann\",\"São\nPaulo\"\n2,Bo,Rome\n3,Cy,Oslo\n",
        100,
        r#"
        rows: 3
        columns: {"id":"identifier, all distinct"}
        moreColumns: {"string":"name,city"}
        "#,
    );
    check(
        "1\t2\t3\n4\t5\t6\n7\t8\t9\n",
        100,
        r#"
        rows: 3
        columns: {"column_1":"identifier, all distinct","column_2":"number 2…8 (max at 7), sum 15","column_3":"number 3…9 (max at 7), sum 18"}
        "#,
    );
}

#[test]
fn code() {
    let text = "use std::fmt;\n\n/// A thing.\npub(crate) struct Thing {\n    a: u32,\n}\n\nimpl Thing {\n    fn a(&self) -> u32 {\n        self.a\n    }\n}\n";
    check(
        text,
        100,
        r#"
        defines: ["4 pub(crate) struct Thing","8 impl Thing","9 fn a"]
        last: "}"
        "#,
    );
}

#[test]
fn lines() {
    let text = "collected 3 items\n\ntests/a.py::test_1 PASSED [ 33%]\ntests/a.py::test_2 FAILED [ 66%]\ntests/a.py::test_3 PASSED [100%]\n\
                        tests/a.py::test_4 PASSED [100%]\nE  assert 3 == 4\n1 failed, 3 passed\n";
    check(
        text,
        150,
        r#"
        linesWith: {"FAILED":1,"failed":1}
        first: {"FAILED":"4: tests/a.py::test_2 FAILED [ 66%]","failed":"8: 1 failed, 3 passed"}
        last: "1 failed, 3 passed"
        "#,
    );
    check("", 100, "last: \"\"");
    check(
        &format!("a\n{}", "x".repeat(400)),
        60,
        r#"
        last: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
        longestLine: "2: 400 characters"
        "#,
    );
}

#[test]
fn numbered_headings() {
    let section = |n: usize| {
        format!(
            "{n} Section {n}\n\n   The words of this section are not many, but there are some.\n   They go on here, and end.\n\n\n"
        )
    };
    check(
        &(1..6).map(section).collect::<String>(),
        120,
        r#"
        outline: ["1: 1 Section 1","7: 2 Section 2","13: 3 Section 3","19: 4 Section 4","+1 more"]
        gist: "The words of this section are not many, but there are some."
        last: "…are not many, but there are some. They go on here, and end."
        "#,
    );
}
