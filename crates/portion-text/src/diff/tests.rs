//! Tests of diffs of several programs.

use super::{Hunk, HunkLine, file_changes};

/// Compares the line, path, counts and first and last line of each file.
fn check(diff: &str, expect: &[(usize, &str, usize, usize, &str, &str)]) {
    let found = file_changes(diff);
    let found: Vec<_> = found
        .iter()
        .map(|file| {
            let own = file.span.slice(diff);
            let (first, last) = (own.lines().next().unwrap_or(""), own.lines().last().unwrap_or(""));
            (file.line, file.path.as_str(), file.added, file.removed, first, last)
        })
        .collect();
    assert_eq!(found, expect);
}

/// Compares the path and the commit of each file.
fn check_commits(diff: &str, expect: &[(&str, &str)]) {
    let found = file_changes(diff);
    let commit = |span: portion_json::span::Span| span.slice(diff);
    let found: Vec<_> =
        found.iter().map(|file| (file.path.as_str(), file.commit.map_or("", commit))).collect();
    assert_eq!(found, expect);
}

#[test]
fn finds_files_with_their_changes() {
    let diff = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
        @@ -1,3 +1,4 @@ fn x\n one\n-two\n+2\n+--- no header\n three\n\
        diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    check(
        diff,
        &[
            (1, "src/a.rs", 2, 1, "diff --git a/src/a.rs b/src/a.rs", " three"),
            (11, "old", 0, 1, "diff --git a/old b/old", "-gone"),
        ],
    );
    let plain =
        "--- x.txt\t2025-01-01\n+++ y.txt\t2025-01-02\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
    check(plain, &[(1, "y.txt", 1, 1, "--- x.txt\t2025-01-01", "\\ No newline at end of file")]);
    for text in ["", "--- a\n+++ b\n", "# title\n--- rule\n+++ sum\n", "@@ -1 +1 @@\n-a\n+b\n", "@@ -9,9 +\n"]
    {
        check(text, &[]);
    }
}

#[test]
fn files_without_hunks_are_changes() {
    let diff = "diff --git a/img.png b/img.png\nindex 1..2 100644\nBinary files a/img.png and b/img.png differ\n\
        diff --git a/was.py b/is.py\nsimilarity index 100%\nrename from was.py\nrename to is.py\n\
        diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
        diff --git a/empty b/empty\nnew file mode 100644\nindex 0..1\n\
        diff --git a/x.bin b/x.bin\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ?wbhEHbWMYsX\n\nliteral 0\nHcmV?d00001\n\n\
        diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1,2 @@\n a\n+b\n";
    check(
        diff,
        &[
            (
                1,
                "img.png",
                0,
                0,
                "diff --git a/img.png b/img.png",
                "Binary files a/img.png and b/img.png differ",
            ),
            (4, "is.py", 0, 0, "diff --git a/was.py b/is.py", "rename to is.py"),
            (8, "run.sh", 0, 0, "diff --git a/run.sh b/run.sh", "new mode 100755"),
            (11, "empty", 0, 0, "diff --git a/empty b/empty", "index 0..1"),
            (14, "x.bin", 0, 0, "diff --git a/x.bin b/x.bin", "HcmV?d00001"),
            (23, "y", 1, 0, "diff --git a/y b/y", "+b"),
        ],
    );
    let binary: Vec<bool> = file_changes(diff).iter().map(|file| file.is_binary).collect();
    assert_eq!(binary, [true, false, false, false, true, false]);
}

#[test]
fn directories_are_compared_by_other_programs() {
    let plain = "diff -ru da/f db/f\n--- da/f\t2025\n+++ db/f\t2025\n@@ -1 +1 @@\n-a\n+b\nBinary files da/x and db/x differ\nOnly in db: y\n\
        diff -ru da/g db/g\n--- da/g\t2025\n+++ db/g\t2025\n@@ -1 +1 @@\n-a\n+-- b\n";
    check(
        plain,
        &[
            (1, "db/f", 1, 1, "diff -ru da/f db/f", "+b"),
            (7, "db/x", 0, 0, "Binary files da/x and db/x differ", "Binary files da/x and db/x differ"),
            (9, "db/g", 1, 1, "diff -ru da/g db/g", "+-- b"),
        ],
    );
    let subversion = "Index: x.c\n=====\n--- x.c\t(revision 1)\n+++ x.c\t(working copy)\n@@ -1 +1 @@\n-a\n+b\nIndex: i.png\n=====\nCannot display: file marked as a binary type.\nsvn:mime-type = image/png\n";
    check(
        subversion,
        &[
            (1, "x.c", 1, 1, "Index: x.c", "+b"),
            (8, "i.png", 0, 0, "Index: i.png", "Cannot display: file marked as a binary type."),
        ],
    );
    let merge = "diff --cc x.c\nindex 1,2..3\n--- a/x.c\n+++ b/x.c\n@@@ -1,1 -1,2 +1,2 @@@\n  a\n -b\n++c\n";
    check(merge, &[(1, "x.c", 1, 1, "diff --cc x.c", "++c")]);
}

#[test]
fn the_header_of_a_commit_belongs_to_no_file() {
    let change = |file: &str| {
        format!("diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -1 +1,2 @@\n a\n+b\n")
    };
    let head = |hash: &str| format!("commit {hash}\nAuthor: A <a@b>\n\n    Message of {hash}\n\n");
    let (first, second) =
        ("1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222");
    let log = format!("{}{}{}\n{}{}", head(first), change("x"), change("y"), head(second), change("x"));
    check_commits(&log, &[("x", first), ("y", first), ("x", second)]);
    assert!(file_changes(&log).iter().all(|file| !file.span.slice(&log).contains("Message")), "{log}");
    let mail = |hash: &str| {
        format!("From {hash} Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\nWords.\n---\n x | 1 +\n\n")
    };
    let mails =
        format!("{}{}-- \n2.39.0\n\n{}{}-- \n2.39.0\n", mail(first), change("x"), mail(second), change("z"));
    check_commits(&mails, &[("x", first), ("z", second)]);
    assert!(file_changes(&mails).iter().all(|file| file.span.slice(&mails).ends_with("+b\n")), "{mails}");
    let short = format!("1234567 One\n{}89abcde Two\n{}", change("x"), change("y"));
    check_commits(&short, &[("x", "1234567"), ("y", "89abcde")]);
}

#[test]
fn a_log_with_one_diff_is_no_diff() {
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n";
    for line in ["20250115 10:00:00 INFO started", "1736935201 ERROR broken", "commit 1234567 was deployed"] {
        let lines = format!("{line}\n").repeat(50);
        assert_eq!(file_changes(&format!("{lines}{diff}{lines}")), [], "{line}");
    }
}

#[test]
fn a_quoted_new_name_keeps_its_folder() {
    let diff = "diff --git a/x \"b/b/caf\\303\\251\"\nsimilarity index 100%\nrename from x\nrename to \"b/caf\\303\\251\"\n";
    assert_eq!(file_changes(diff)[0].path, "b/café");
}

#[test]
fn lines_that_the_header_does_not_count_belong_to_the_hunk() {
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n-b\n+c\n d\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n+c\n";
    check(diff, &[(1, "x", 1, 1, "diff --git a/x b/x", " d"), (9, "y", 2, 1, "--- a/y", "+c")]);
}

#[test]
fn a_hunk_ends_at_the_next_file_whatever_its_header_says() {
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    check(diff, &[(1, "x", 1, 1, "diff --git a/x b/x", "+b"), (7, "y", 1, 1, "diff --git a/y b/y", "+b")]);
}

#[test]
fn a_hunk_ends_with_its_last_line() {
    let mut hunk = Hunk::parse("@@ -1,2 +1,2 @@ fn x").expect("a hunk");
    let read: Vec<_> = [" a", "-b", "+c", "-- "].into_iter().map(|line| hunk.read(line)).collect();
    assert_eq!(read, [Some(HunkLine::Context), Some(HunkLine::Removed), Some(HunkLine::Added), None]);
}

#[test]
fn a_combined_hunk_has_several_files_before() {
    let mut hunk = Hunk::parse("@@@ -1,2 -1,1 +1,2 @@@").expect("a hunk");
    let read: Vec<_> = ["  a", "- b", "++c"].into_iter().map(|line| hunk.read(line)).collect();
    assert_eq!(read, [Some(HunkLine::Context), Some(HunkLine::Removed), Some(HunkLine::Added)]);
    assert!(hunk.is_complete());
}

#[test]
fn other_lines_are_no_headers() {
    for line in ["", "@", "@@", "@@ -9,9 +", "@@ -x +1 @@", "@@ -1 +1 @@@", "@@@ -1 +1 @@@"] {
        assert!(Hunk::parse(line).is_none(), "{line}");
    }
}
