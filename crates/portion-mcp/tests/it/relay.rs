//! Tests of the relay with real processes on both sides: relayed messages, shutdown, exit codes, and that no process
//! remains.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use crate::support::{Client, assert_gone, command};
use rustix::process::{Pid, Signal, kill_process};

const CALL_1: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
const CALL_2: &str = r#"{"jsonrpc":"2.0","id":"two","method":"tools/call"}"#;

#[test]
fn messages_keep_their_bytes_and_order() {
    let mut client = Client::with(&["cat"]);
    let messages: Vec<_> = (0..2000)
        .map(|n| format!(r#"{{"n" : {n}.00e0,"n":"\u00e9 é",  "x":[1e400]}}{}"#, " \r".repeat(n % 2)))
        .collect();
    for message in &messages {
        client.say(message);
        client.say("");
    }
    for message in &messages {
        assert_eq!(client.hear(), format!("{message}\n"));
    }
    assert_eq!(client.leave(), (vec![], 0));
}

#[test]
fn a_last_message_without_newline_is_relayed() {
    let mut client = Client::with(&["cat"]);
    client.stdin.as_mut().expect("open").write_all(b"[1]\n[2]").expect("read");
    assert_eq!(client.leave(), (vec!["[1]".into(), "[2]".into()], 0));
}

#[test]
fn a_too_large_message_is_answered_and_the_connection_continues() {
    let mut client = Client::around_python(
        r#"
import sys
for line in sys.stdin:
    sys.stdout.write('{"jsonrpc":"2.0","result":"')
    for _ in range(64): sys.stdout.write('x' * (1 << 20))
    sys.stdout.write('","id":1}\n{"method":"after"}\n')
    sys.stdout.flush()
"#,
    );
    client.say(CALL_1);
    let answer = client.hear();
    assert!(
        answer.contains(r#""id":1,"error""#) && answer.contains("message_too_large: 67108900"),
        "{answer}"
    );
    assert_eq!(client.hear(), "{\"method\":\"after\"}\n");

    let big = format!(r#"{{"params":"{}","method":"m","id":"big"}}"#, "y".repeat(64 << 20));
    client.say(&big);
    let answer = client.hear();
    assert!(answer.contains(r#""id":"big","error""#), "{answer}");

    assert!(client.peak_mib() < 48, "{} MiB", client.peak_mib());
    assert_eq!(client.leave(), (vec![], 0));
}

#[test]
fn messages_of_a_dead_server_are_relayed_and_pending_requests_get_one_answer_each() {
    let mut client = Client::around(
        r#"read a; read b; echo '{"method":"last"}'; echo '{"result":[],"id":1}'; printf '{"res'; exit 3"#,
    );
    client.say(CALL_1);
    client.say(CALL_2);
    let messages = client.rest();
    assert_eq!(messages[..2], [r#"{"method":"last"}"#, r#"{"result":[],"id":1}"#]);
    assert!(
        messages[2].contains(r#""id":"two","error""#) && messages[2].contains("exited with code 3"),
        "{messages:?}"
    );
    assert_eq!((messages.len(), client.code()), (3, 3));
}

#[test]
fn a_killed_server_exits_with_128_plus_its_signal() {
    let mut client = Client::around("read a; kill -9 $$");
    client.say(CALL_1);
    let messages = client.rest();
    assert!(messages.len() == 1 && messages[0].contains("signal 9"), "{messages:?}");
    assert_eq!(client.code(), 128 + 9);
}

#[test]
fn a_mebibyte_written_before_the_exit_arrives() {
    let mut client = Client::around_python(
        r"
import os
line = b'[' + b'1,' * 511 + b'1]\n'
os.write(1, line * ((1 << 20) // len(line)))
os._exit(7)
",
    );
    assert_eq!(client.rest().len(), (1 << 20) / 1026);
    assert_eq!(client.code(), 7);
}

#[test]
fn garbage_is_dropped_and_the_rest_relayed() {
    let mut client = Client::around(
        r#"echo 'Server listening on stdio'; printf '\377\000\n\n'; echo '{"method":"m"}'; cat >&2"#,
    );
    assert_eq!(client.hear(), "{\"method\":\"m\"}\n");
    assert_eq!(client.leave(), (vec![], 0));
}

#[test]
fn unread_messages_take_bounded_memory() {
    let mut client = Client::around(r#"echo $$; exec yes '{"method":"notifications/message"}'"#);
    let group = client.group();
    let mut reader = client.stdout.take().expect("open");
    let mut some = vec![0; 1 << 20];
    for _ in 0..32 {
        reader.read_exact(&mut some).expect("there is always more");
    }
    assert!(client.peak_mib() < 32, "{} MiB", client.peak_mib());
    // The client does not read any more, and its end of input still ends the relay.
    client.stdin = None;
    std::thread::spawn(move || reader.read_to_end(&mut Vec::new()));
    assert_eq!(client.code(), 0);
    assert_gone(group);
}

#[test]
fn full_pipes_in_both_directions_cause_no_deadlock() {
    // The server writes 4 MiB before it reads anything.
    let mut client = Client::around_python(
        r"
import sys
for n in range(4096): sys.stdout.write('[' + '1,' * 511 + '1]\n')
sys.stdout.flush()
got = sum(1 for line in sys.stdin)
print([got])
",
    );
    let mut stdin = client.stdin.take().expect("open");
    let writer = std::thread::spawn(move || {
        let line = format!("[{}2]\n", "2,".repeat(511));
        (0..4096).for_each(|_| stdin.write_all(line.as_bytes()).expect("read"));
    });
    let messages = client.rest();
    writer.join().expect("no panic");
    assert_eq!((messages.len(), messages[4096].as_str(), client.code()), (4097, "[4096]", 0));
}

#[test]
fn end_of_input_reaches_the_server_and_a_late_response_the_client() {
    let mut client = Client::around(r#"read a; cat >/dev/null; sleep 2; echo '{"result":1,"id":1}'; exit 5"#);
    client.say(CALL_1);
    assert_eq!(client.leave(), (vec![r#"{"result":1,"id":1}"#.into()], 5));
}

#[test]
fn a_server_that_ignores_both_end_of_input_and_sigterm_is_killed() {
    let mut client = Client::around("trap '' TERM; echo $$; while :; do sleep 100; done");
    let group = client.group();
    assert_eq!(client.leave(), (vec![], 0));
    assert_gone(group);
}

#[test]
fn a_grandchild_does_not_hold_our_pipe_and_is_killed() {
    let mut client = Client::around("echo $$; sleep 1000 & exit 4");
    let group = client.group();
    assert_eq!((client.rest(), client.code()), (vec![], 4));
    assert_gone(group);
}

#[test]
fn a_grandchild_may_finish_its_message() {
    let mut client = Client::around(r#"trap '' TERM; (echo '{"method":"late"}') & exit 4"#);
    assert_eq!((client.rest(), client.code()), (vec![r#"{"method":"late"}"#.into()], 4));
}

#[test]
fn a_process_that_left_the_group_does_not_delay_the_exit() {
    for says in ["sleep 1000", "yes [1]"] {
        let mut client = Client::around(&format!("setsid sh -c 'echo $$; exec {says}' & read a; exit 6"));
        let escaped = client.group();
        client.say(CALL_1);
        let messages = client.rest();
        assert!(messages.last().is_some_and(|line| line.contains("exited with code 6")), "{says}");
        assert_eq!(client.code(), 6);
        let _ = kill_process(Pid::from_raw(escaped.try_into().expect("small")).expect("not 0"), Signal::KILL);
    }
}

#[test]
fn a_server_that_closes_its_stdout_has_ended() {
    let mut client = Client::around("trap '' TERM; echo $$; read a; exec >&-; while :; do sleep 100; done");
    let group = client.group();
    client.say(CALL_1);
    let messages = client.rest();
    assert!(messages.len() == 1 && messages[0].contains(r#""id":1,"error""#), "{messages:?}");
    assert_eq!(client.code(), 128 + 9);
    assert_gone(group);
}

#[test]
fn a_client_that_closes_our_stdout_has_left() {
    let mut client = Client::around(r#"echo $$; while read a; do echo '{"method":"m"}'; done; exit 8"#);
    let group = client.group();
    client.stdout = None;
    client.say(CALL_1);
    assert_eq!(client.code(), 8);
    assert_gone(group);
}

#[test]
fn a_signal_to_us_ends_a_server_that_ignores_it() {
    for (signal, trap) in [(Signal::TERM, ""), (Signal::INT, ""), (Signal::HUP, "trap '' TERM;")] {
        let mut client = Client::around(&format!("{trap} echo $$; while :; do sleep 100; done"));
        let group = client.group();
        kill_process(Pid::from_child(&client.relay), signal).expect("it runs");
        assert_eq!(client.code(), 128 + signal.as_raw());
        assert_gone(group);
    }
}

#[test]
fn a_signal_to_us_works_while_the_client_does_not_read() {
    let mut client = Client::around(r#"echo $$; exec yes '{"method":"m"}'"#);
    let group = client.group();
    client.say(CALL_1);
    kill_process(Pid::from_child(&client.relay), Signal::TERM).expect("it runs");
    assert_eq!(client.code(), 128 + 15);
    assert_gone(group);
}

#[test]
fn a_shared_non_blocking_socket_loses_nothing() {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let keep = theirs.try_clone().expect("a handle");
    let mut relay = command()
        .args(["cat"])
        .stdin(std::os::fd::OwnedFd::from(theirs.try_clone().expect("a handle")))
        .stdout(std::os::fd::OwnedFd::from(theirs))
        .spawn()
        .expect("starts");
    keep.set_nonblocking(true).expect("shared");
    drop(keep);
    let mut to = ours.try_clone().expect("a handle");
    let writer = std::thread::spawn(move || {
        let line = format!("[{}2]\n", "2,".repeat(511));
        (0..4096).for_each(|_| to.write_all(line.as_bytes()).expect("read"));
        to.shutdown(std::net::Shutdown::Write).expect("open");
    });
    assert_eq!(BufReader::new(ours).lines().count(), 4096);
    writer.join().expect("no panic");
    assert!(relay.wait().expect("ours").success());
}

#[test]
fn an_error_of_starting_is_reported() {
    for (program, why) in [
        ("no-such-server", "cannot start `no-such-server`: not found on PATH"),
        ("./no/such/server", "cannot start `./no/such/server`: no such file"),
        ("/etc/passwd", "cannot start `/etc/passwd`: not executable"),
    ] {
        let output = command().arg(program).output().expect("starts");
        let says = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            says.contains(why) && output.stdout.is_empty() && output.status.code() == Some(127),
            "{says}"
        );
    }
}
