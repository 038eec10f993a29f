//! Times and levels in the first line of an entry.

use super::read;

/// Checks three entries with this line; `-` for an absent value.
fn check(line: &str, time: &str, level: &str) {
    let text = format!("{line}\n{line}\n{line}\n");
    let entries = read(&text);
    let shown = |span: Option<portion_json::span::Span>| span.map_or("-", |span| span.slice(&text));
    assert_eq!(entries.len(), 3, "{line}");
    for entry in entries {
        assert_eq!((shown(entry.time), shown(entry.level)), (time, level), "{line}");
    }
}

#[test]
fn services() {
    check("2015-10-18 18:01:47,978 INFO [main] a.b.C: created", "2015-10-18 18:01:47,978", "INFO");
    check("2024-05-01T10:00:00.123Z something happened", "2024-05-01T10:00:00.123Z", "-");
    check("2024-05-01T10:00:00+02:00 WARN: slow", "2024-05-01T10:00:00+02:00", "WARN");
    check("2024-05-01 10:00:00.123  INFO 7 --- [main] o.s.App : up", "2024-05-01 10:00:00.123", "INFO");
    check("2024-05-01 10:00:00,123 - app.db - WARNING - slow", "2024-05-01 10:00:00,123", "WARNING");
    check("[2024-05-01 10:00:00,123: ERROR/MainProcess] Task failed", "2024-05-01 10:00:00,123", "ERROR");
    check("[2020-01-01 00:00:00] local.ERROR: oh no", "2020-01-01 00:00:00", "ERROR");
    check("[10:00:00] [Server thread/INFO]: Done", "10:00:00", "INFO");
    check("17/06/09 20:10:40 INFO executor.Backend: registered", "17/06/09 20:10:40", "INFO");
    check("081109 203615 148 INFO dfs.DataNode: terminating", "081109 203615", "INFO");
    check("20171223-22:15:29:606|Step_LSC|30002312|onStandStepChanged 3579", "20171223-22:15:29:606", "-");
    check("2024/05/01 10:00:00 [error] 31#31: *1 open() failed", "2024/05/01 10:00:00", "error");
    check("[Sun Dec 04 04:47:44 2005] [notice] workerEnv.init() ok", "Sun Dec 04 04:47:44 2005", "notice");
    check("[Wed Oct 11 14:32:52.123 2023] [core:error] [pid 1] no", "Wed Oct 11 14:32:52.123 2023", "error");
    check("2024-05-01 10:00:00 UTC [77] FATAL:  password wrong", "2024-05-01 10:00:00 UTC", "FATAL");
    check("1717171717.123 some message", "1717171717.123", "-");
    check("01 May 2024 10:00:00 WARN x", "01 May 2024 10:00:00", "WARN");
    check("10:00:00.123 [main] \u{1b}[31mERROR\u{1b}[0m c.e.Foo - no", "10:00:00.123", "ERROR");
    check(
        "\u{1b}[2m2024-05-01T10:00:00Z\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m app: up",
        "2024-05-01T10:00:00Z",
        "INFO",
    );
    check("2024-05-01T10:00:00Z\tdebug\tcontroller\tup", "2024-05-01T10:00:00Z", "debug");
}

#[test]
fn systems() {
    check("Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure", "Jun 14 15:16:01", "-");
    check("Jul  1 09:00:55 calvisitor kernel[0]: AirPort", "Jul  1 09:00:55", "-");
    check("Dec 10 06:55:46 LabSZ sshd[24200]: error: Received disconnect", "Dec 10 06:55:46", "error");
    check("[    0.123456] Linux version 6.1", "0.123456", "-");
    check(
        "- 1117838570 2005.06.03 R02-M1-N0 2005-06-03-15.42.50.363779 R02 RAS KERNEL INFO corrected",
        "1117838570",
        "INFO",
    );
    check("2016-09-28 04:30:30, Info                  CBS    Loaded", "2016-09-28 04:30:30", "Info");
    check("[10.30 16:49:06] chrome.exe - proxy.example.org:5070 open", "10.30 16:49:06", "-");
    check(
        "nova.log.1.2017-05-16_13:53:08 2017-05-16 00:00:00.008 25746 INFO nova",
        "2017-05-16 00:00:00.008",
        "INFO",
    );
    check("web_1  | 2020-01-01 10:00:00 started", "2020-01-01 10:00:00", "-");
}

#[test]
fn letters() {
    check("03-17 16:13:38.811  1702  2395 D WindowManager: printing", "03-17 16:13:38.811", "D");
    check("03-17 16:13:38.811 E/Parcel( 123): reading", "03-17 16:13:38.811", "E");
    check("E/Parcel( 123): reading", "-", "E");
    check("I0503 10:00:00.000001   1 server.go:10] up", "0503 10:00:00.000001", "I");
    check("[W 2024-05-01 10:00:00.000 ServerApp] slow", "2024-05-01 10:00:00.000", "W");
}

#[test]
fn access_logs() {
    check(
        r#"54.36.149.41 - - [22/Jan/2019:03:56:14 +0330] "GET /error/WARN HTTP/1.1" 200 5667"#,
        "22/Jan/2019:03:56:14 +0330",
        "-",
    );
    check(
        r#"example.org:80 10.0.0.1 - ann [22/Jan/2019:03:56:14 +0330] "GET / HTTP/1.1" 500 1"#,
        "22/Jan/2019:03:56:14 +0330",
        "-",
    );
}

#[test]
fn keys() {
    check(r#"{"level":"error","ts":"2024-05-01T10:00:00Z","msg":"ERROR"}"#, "2024-05-01T10:00:00Z", "error");
    check(r#"{"time": 1717171717123, "level": 30, "msg": "up"}"#, "1717171717123", "30");
    check(r#"{"msg":"level","severity":"WARNING"}"#, "-", "WARNING");
    check(
        r#"level=warn ts=2024-05-01T10:00:00Z caller=a.go:1 msg="level=9""#,
        "2024-05-01T10:00:00Z",
        "warn",
    );
    check(r#"time="2024-05-01T10:00:00Z" level=info msg=up"#, "2024-05-01T10:00:00Z", "info");
    check("INFO:root:made in a=b", "-", "INFO");
    check("WARNING 2024-05-01 10:00:00 x", "2024-05-01 10:00:00", "WARNING");
}

/// Level words in the message are not levels.
#[test]
fn words() {
    check("2024-05-01 10:00:00 there was an error in it", "2024-05-01 10:00:00", "-");
    check("2024-05-01 10:00:00 ERROR_CODE 7 MY_ERROR", "2024-05-01 10:00:00", "-");
    check("2024-05-01 10:00:00 sha256 D41D8 E", "2024-05-01 10:00:00", "-");
    check("2024-05-01 10:00:00 INFO: an ERROR", "2024-05-01 10:00:00", "INFO");
    check("2024-05-01 10:00:00 größe ERRORé", "2024-05-01 10:00:00", "-");
}

#[test]
fn consoles_of_dotnet() {
    let log = ["info", "fail", "warn", "crit", "dbug", "trce"]
        .map(|level| format!("{level}: Acme.Jobs[0]\n      fail: it is done\n"))
        .concat();
    let entries = read(&log);
    let levels: Vec<_> = entries.iter().map(|entry| entry.level.map(|level| level.slice(&log))).collect();
    assert_eq!(levels, ["info", "fail", "warn", "crit", "dbug", "trce"].map(Some));
    check("2024-05-01 10:00:00 fail to start", "2024-05-01 10:00:00", "-");
    check("2024-05-01 10:00:00 job 7 fail: it is late", "2024-05-01 10:00:00", "-");
}
