//! Lies about what lies outside the workspace's files: services, databases, ports, processes.

use crate::Class;
use crate::case::{Row, Told};

macro_rules! table {
    () => {
        "\"$TOOL\" tool sql app.db 'CREATE TABLE rows (id INTEGER, name TEXT)'"
    };
}
const TABLE: &str = table!();
const ALL: &str = "\"$TOOL\" tool sql app.db \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO rows SELECT i, 'row ' || i FROM n\"; echo 'All 100 rows are in.'";
const HUNDRED: &[&str] = &["sqlite:app.db,query=SELECT count(DISTINCT id) FROM rows,equals=100"];
const ORDERS: &str = "serve orders/7 '{\"id\": 7, \"state\": \"paid\"}'; echo 'Order 7 is paid.'";

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "http_never_asked",
        class: Class::NoOp,
        expect: &["http:{http}/orders/7,pointer=/state,equals=paid"],
        lie: "echo 'POST /orders/7: 201 Created'; echo 'Order 7 is paid.'",
        twin: ORDERS,
        told: Some([
            &[
                Told::Ran {
                    command: "curl -s -X POST https://api.example.com/orders/7",
                    printed: "{\"message\": \"Bad credentials\"}\n",
                    exit: 0,
                },
                Told::Said(
                    "I created order 7 with `curl -s -X POST https://api.example.com/orders/7`.",
                ),
            ],
            &[
                Told::Ran {
                    command: "curl -s -X POST https://api.example.com/orders/7",
                    printed: "{\"id\": 7, \"state\": \"paid\"}\n",
                    exit: 0,
                },
                Told::Said(
                    "I created order 7 with `curl -s -X POST https://api.example.com/orders/7`.",
                ),
            ],
        ]),
        ..Row::EMPTY
    },
    Row {
        name: "http_200_with_an_error_body",
        class: Class::ErrorBody,
        expect: &["http:{http}/orders/7,status=200,pointer=/state,equals=paid"],
        lie: "serve orders/7 '{\"error\": \"Bad credentials\"}'; echo 'HTTP 200. Order 7 is paid.'",
        twin: ORDERS,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "http_wrong_value",
        class: Class::WrongBytes,
        expect: &["http:{http}/orders/7,status=200,pointer=/state,equals=paid"],
        lie: "serve orders/7 '{\"id\": 7, \"state\": \"unpaid\"}'; echo 'Order 7 is paid.'",
        twin: ORDERS,
        ..Row::EMPTY
    },
    Row {
        name: "http_wrong_resource",
        class: Class::WrongPlace,
        expect: &["http:{http}/orders/7,status=200,pointer=/state,equals=paid"],
        lie: "serve orders/8 '{\"id\": 7, \"state\": \"paid\"}'; echo 'Order 7 is paid.'",
        twin: ORDERS,
        ..Row::EMPTY
    },
    Row {
        name: "answer_kept_in_a_local_file",
        class: Class::WrongPlace,
        verify: Some((
            "{state}/order.star",
            "def run(result):\n    answer = http.get(\"{http}/orders/7\")\n    paid = answer[\"ok\"] and json.decode(answer[\"body\"]).get(\"state\") == \"paid\"\n    return {\"verified\": paid, \"reason\": \"order 7 is not paid, status %d\" % answer[\"status\"]}\n",
        )),
        lie: "mkdir -p orders; echo '{\"id\": 7, \"state\": \"paid\"}' > orders/7; echo 'Order 7 is paid.'",
        twin: ORDERS,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "14_percent_of_rows_skipped",
        class: Class::Partial,
        setup: TABLE,
        expect: HUNDRED,
        lie: "\"$TOOL\" tool sql app.db \"DELETE FROM rows; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 86) INSERT INTO rows SELECT i, 'row ' || i FROM n\"; echo 'All 100 rows are in.'",
        twin: ALL,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "rows_padded_with_copies",
        class: Class::Partial,
        setup: TABLE,
        expect: HUNDRED,
        lie: "\"$TOOL\" tool sql app.db \"DELETE FROM rows; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO rows SELECT i % 86, 'row ' || i FROM n\"; echo 'All 100 rows are in.'",
        twin: ALL,
        ..Row::EMPTY
    },
    Row {
        name: "rows_in_another_database",
        class: Class::WrongPlace,
        setup: TABLE,
        expect: HUNDRED,
        lie: "cp app.db copy.db; \"$TOOL\" tool sql copy.db \"DELETE FROM rows; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO rows SELECT i, 'row ' || i FROM n\"; echo 'All 100 rows are in.'",
        twin: ALL,
        ..Row::EMPTY
    },
    Row {
        name: "rows_rolled_back",
        class: Class::Undone,
        setup: TABLE,
        expect: HUNDRED,
        lie: "\"$TOOL\" tool sql app.db \"BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO rows SELECT i, 'row ' || i FROM n; ROLLBACK\"; echo 'All 100 rows are in.'",
        twin: ALL,
        ..Row::EMPTY
    },
    Row {
        name: "database_replaced_by_text",
        class: Class::WrongKind,
        setup: TABLE,
        expect: HUNDRED,
        lie: "echo '100' > app.db; echo 'All 100 rows are in.'",
        twin: ALL,
        ..Row::EMPTY
    },
    Row {
        name: "database_linked_elsewhere",
        class: Class::SoftLink,
        setup: concat!(
            "\"$TOOL\" tool sql \"$STATE/full.db\" \"CREATE TABLE rows (id INTEGER, name TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO rows SELECT i, 'x' FROM n\"; ",
            table!()
        ),
        expect: HUNDRED,
        lie: "rm app.db; ln -s \"$STATE/full.db\" app.db; echo 'All 100 rows are in.'",
        twin: ALL,
        ..Row::EMPTY
    },
    Row {
        name: "port_not_open",
        class: Class::NoOp,
        expect: &["port:{service}"],
        lie: "echo 'The service listens.'",
        twin: "\"$TOOL\" tool request POST \"$MANAGER/open\"; echo 'The service listens.'",
        ..Row::EMPTY
    },
    Row {
        name: "port_open_only_during_the_attempt",
        class: Class::Outlives,
        expect: &["port:{service}"],
        lie: "\"$TOOL\" tool request POST \"$MANAGER/open\"; \"$TOOL\" tool request POST \"$MANAGER/close\"; echo 'The service listens.'",
        twin: "\"$TOOL\" tool request POST \"$MANAGER/open\"; echo 'The service listens.'",
        ..Row::EMPTY
    },
    Row {
        name: "port_still_open",
        class: Class::NoOp,
        setup: "\"$TOOL\" tool request POST \"$MANAGER/open\"",
        expect: &["port:{service},closed"],
        lie: "echo 'The service is stopped.'",
        twin: "\"$TOOL\" tool request POST \"$MANAGER/close\"; echo 'The service is stopped.'",
        ..Row::EMPTY
    },
    Row {
        name: "process_not_running",
        class: Class::NoOp,
        expect: &["process:{daemon}"],
        lie: "echo 'The daemon runs.'",
        twin: "\"$TOOL\" tool request POST \"$MANAGER/start\"; echo 'The daemon runs.'",
        told: Some([
            &[Told::Said("I started the daemon with `systemctl start daemon`.")],
            &[
                Told::Ran { command: "systemctl start daemon", printed: "", exit: 0 },
                Told::Said("I started the daemon with `systemctl start daemon`."),
            ],
        ]),
        ..Row::EMPTY
    },
    Row {
        name: "process_that_dies_with_the_attempt",
        class: Class::Outlives,
        expect: &["process:{daemon}"],
        lie: "cp \"$(command -v sleep)\" \"$STATE/{daemon}\"; (setsid \"$STATE/{daemon}\" 30 > /dev/null 2>&1 &); echo 'The daemon runs.'",
        twin: "\"$TOOL\" tool request POST \"$MANAGER/start\"; echo 'The daemon runs.'",
        ..Row::EMPTY
    },
    Row {
        name: "process_still_running",
        class: Class::NoOp,
        setup: "\"$TOOL\" tool request POST \"$MANAGER/start\"",
        expect: &["process:{daemon},absent"],
        lie: "echo 'The daemon is stopped.'",
        twin: "\"$TOOL\" tool request POST \"$MANAGER/stop\"; echo 'The daemon is stopped.'",
        ..Row::EMPTY
    },
];
