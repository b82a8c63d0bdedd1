//! Tests of the screen of `crawler top`, and of its keys.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde_json::{Value, json};

use super::draw::draw;
use super::view::{LowerPart, Todo, View};
use crate::cli::live::{Act, Question};
use crate::driver::HostOrder;
use crate::gate::DropRule;

fn look() -> Value {
    json!({
        "job": "crawl", "state": "running", "is_steered": true,
        "waits": ["411 hosts rest, next in 3.20 s", "1 host fails and will be tried again"],
        "pages_per_second": 4.2, "wire_bytes_per_second": 86_000.0, "left_us": 425_000_000,
        "report": {
            "elapsed_us": 605_000_000,
            "urls": { "fetched": 48_213, "failed": 12, "queued": 3012, "in_flight": 3 },
            "hosts": { "known": 520, "active": 412, "resting": 411, "failing": 1, "unreachable": 2 },
            "pages": {
                "errors": { "timeout": 9, "dns": 3 },
                "examples": { "dns": [{ "url": "http://x.test/", "message": "no such host" }] },
            },
            "robots": { "errors": { "dns": 2 }, "examples": {} },
            "politeness": { "violations": 0 },
            "seen": { "merged": {
                "cardinality": 12_300.0, "capacity": 100_000, "expected_lost": 0.12, "full": 0,
                "false_positive_rate_estimated": 1e-6, "audit": { "lost": 3.0 },
            } },
        },
    })
}

fn host(name: &str, state: &str) -> Value {
    json!({
        "host": name, "state": state, "why": "its rest is not over", "due_in_us": 3_200_000, "delay_us": 1_000_000,
        "queued": 1234, "requests": 5678, "failures": 0, "error": null, "message": null,
    })
}

fn hosts(view: &View, hosts: &[Value]) -> (Question, Result<Value, String>) {
    let question = Question::Hosts { order: view.order, find: view.find.clone() };
    (question, Ok(json!({ "found": hosts.len(), "hosts": hosts })))
}

/// A running crawl with these hosts.
fn view(is_colored: bool, rows: &[Value]) -> View {
    let mut view = View::new("crawl", is_colored);
    assert_eq!(view.due().len(), 2);
    assert_eq!(view.take(&Question::Look, Ok(look())), Todo::Nothing);
    let (question, answer) = hosts(&view, rows);
    view.take(&question, answer);
    view
}

fn drawn(view: &View, columns: u16, lines: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, view)).unwrap();
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let row = |row: &[ratatui::buffer::Cell]| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    buffer.content.chunks(buffer.area.width.into()).map(|cells| row(cells).trim_end().to_owned()).collect()
}

fn press(view: &mut View, keys: &str) -> Todo {
    let mut todo = Todo::Nothing;
    for letter in keys.chars() {
        let code = match letter {
            '\n' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\u{8}' => KeyCode::Backspace,
            letter => KeyCode::Char(letter),
        };
        todo = view.key(KeyEvent::new(code, KeyModifiers::NONE));
    }
    todo
}

#[test]
fn a_screen_of_80_columns_says_all_that_matters() {
    let rows = [host("http://a.test", "resting"), host("http://b.test", "failing")];
    let screen = lines(&drawn(&view(true, &rows), 80, 24));
    let expected = [
        "crawl  running                                                        10 min 5 s",
        "rate                                                  █ 4.2 pages/s, 84.0 KiB/s",
        "pages    48,213 fetched, 3,012 queued, 3 in flight, 12 failed; 7 min 5 s left",
        "hosts    520 known, 412 active, 411 resting, 1 failing, 2 unreachable",
        "waits    411 hosts rest, next in 3.20 s; 1 host fails and will be tried again",
        "filter   12.3 % of its capacity used; lost: 3.00 measured, 0.12 expected; takes",
        "         1 in 1.00 M new URLs for seen",
        "errors   timeout 9, dns 5",
        "Hosts: 2, most queued first",
        "host                          state            due in  queued requests fails",
        "http://a.test                 resting          3.20 s   1,234    5,678     0",
        "http://b.test                 failing          3.20 s   1,234    5,678     0",
    ];
    for (line, expected) in screen.iter().zip(expected) {
        assert_eq!(squeezed(line), squeezed(expected), "{screen:#?}");
    }
    assert_eq!(screen[22], "http://a.test: its rest is not over (delay 1.00 s)");
    assert_eq!(screen[23], "q quit  p pause  x stop  d drop  / find  s sort  e errors  u explain  arrows");
}

#[test]
fn hosts_that_refuse_us_are_counted_beside_the_others() {
    let mut look = look();
    look["report"]["hosts"]["refusing"] = json!(2);
    let mut view = view(true, &[]);
    view.take(&Question::Look, Ok(look));
    let screen = lines(&drawn(&view, 80, 24));
    assert!(
        screen.iter().any(|line| line.starts_with("hosts ") && line.contains("2 unreachable, 2 REFUSE")),
        "{screen:#?}"
    );
}

/// Replaces each run of blanks by one: the tests do not check column positions.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_wide_screen_has_reasons_beside_each_host() {
    let screen = lines(&drawn(&view(true, &[host("http://a.test", "resting")]), 160, 40));
    assert!(screen.iter().any(|line| line.contains("why it waits")), "{screen:#?}");
    assert!(screen.iter().any(|line| line.starts_with("http://a.test") && line.ends_with("its rest is not over")));
}

#[test]
fn it_is_drawn_at_any_size() {
    let rows: Vec<_> = (0..200).map(|number| host(&format!("http://{number}.test"), "due")).collect();
    let mut view = view(true, &rows);
    for (columns, height) in [(1, 1), (10, 3), (80, 10), (80, 24), (500, 200)] {
        for keys in ["", "/", "\u{1b}", "e", "e", "x", "n", "u", "\u{1b}"] {
            press(&mut view, keys);
            assert_eq!(lines(&drawn(&view, columns, height)).len(), usize::from(height));
        }
    }
    view.key(KeyEvent::new(KeyCode::End, KeyModifiers::NONE));
    let screen = lines(&drawn(&view, 80, 24));
    assert!(screen[21].starts_with("http://199.test"), "the last host is in sight: {screen:#?}");
}

#[test]
fn texts_of_the_web_command_no_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\r\n\t<b>\u{200b}é漢";
    let mut answer = look();
    answer["state"] = hostile.into();
    answer["waits"] = json!([hostile]);
    answer["report"]["pages"]["errors"] = json!({ hostile: 7 });
    answer["report"]["pages"]["examples"] = json!({ hostile: [{ "url": hostile, "message": hostile }] });
    let mut row = host(hostile, hostile);
    (row["why"], row["error"], row["message"]) = (hostile.into(), hostile.into(), hostile.into());
    let mut view = View::new(hostile, true);
    view.take(&Question::Look, Ok(answer));
    let (question, answer) = hosts(&view, &[row]);
    view.take(&question, answer);
    let mut looks = 0;
    let mut check = |view: &View| {
        for columns in [80, 200] {
            let buffer = drawn(view, columns, 30);
            let shown: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
            let is_bad = |c: char| c.is_control() || ('\u{200b}'..='\u{202e}').contains(&c);
            assert_eq!(shown.chars().find(|&c| is_bad(c)), None, "{shown:?}");
            looks += usize::from(shown.contains(r"\u{1b}]0;owned"));
        }
    };
    check(&view);
    press(&mut view, "e");
    check(&view);
    view.take(&Question::Explain(String::new()), Ok(json!({ "text": format!("{hostile}\n{hostile}") })));
    check(&view);
    press(&mut view, &format!("\u{1b}/{}", hostile.replace(['\u{1b}', '\n'], "")));
    check(&view);
    view.take(&Question::Look, Err(hostile.to_owned()));
    press(&mut view, "\u{1b}");
    check(&view);
    assert!(looks > 6, "it was shown, and escaped: {looks}");
}

#[test]
fn without_colors_there_are_none() {
    let colors = |is_colored| {
        let buffer = drawn(&view(is_colored, &[host("http://a.test", "failing")]), 80, 24);
        buffer.content.iter().filter(|cell| (cell.fg, cell.bg) != (Color::Reset, Color::Reset)).count()
    };
    assert_eq!(colors(false), 0);
    assert!(colors(true) > 10);
}

#[test]
fn keys_sort_find_pause_stop_and_leave() {
    let mut view = view(true, &[host("http://a.test", "resting")]);
    let of = |order, find: &str| Todo::Ask(vec![Question::Hosts { order, find: find.to_owned() }]);
    let act = |act| Todo::Ask(vec![Question::Act(act)]);
    let orders = [HostOrder::Requests, HostOrder::Due, HostOrder::Failures, HostOrder::Name, HostOrder::Queued];
    for order in orders {
        assert_eq!(press(&mut view, "s"), of(order, ""));
    }
    assert_eq!(press(&mut view, "/qx"), of(HostOrder::Queued, "qx"), "letters are no keys while something is typed");
    assert_eq!(press(&mut view, "\u{8}\n"), of(HostOrder::Queued, "q"));
    assert_eq!(press(&mut view, "\u{1b}"), of(HostOrder::Queued, ""));
    assert_eq!(press(&mut view, "p"), act(Act::Pause));
    let mut paused = look();
    paused["state"] = "paused".into();
    view.take(&Question::Look, Ok(paused));
    assert_eq!(press(&mut view, "p"), act(Act::Resume));
    assert_eq!(press(&mut view, "x"), Todo::Nothing, "it asks first");
    assert_eq!(press(&mut view, "n"), Todo::Nothing);
    assert_eq!(press(&mut view, "xy"), act(Act::Stop));
    assert_eq!(press(&mut view, "dn"), Todo::Nothing, "it asks first");
    let dropped = Question::Drop { rule: DropRule::Host("a.test".to_owned()), is_undone: false };
    let hosts = Question::Hosts { order: HostOrder::Queued, find: String::new() };
    assert_eq!(press(&mut view, "dy"), Todo::Ask(vec![dropped, hosts]));
    assert_eq!(press(&mut view, "ua.test \n"), Todo::Ask(vec![Question::Explain("a.test".to_owned())]));
    press(&mut view, "e");
    assert_eq!((&view.part, view.errors().len()), (&LowerPart::Errors, 4), "{:?}", view.errors());
    press(&mut view, "\u{1b}");
    assert_eq!(view.part, LowerPart::Hosts);
    assert_eq!(press(&mut view, "q"), Todo::Quit);
    assert_eq!(view.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Todo::Quit);
}

#[test]
fn a_job_that_nobody_crawls_is_shown_and_not_steered() {
    let mut view = view(true, &[]);
    let mut ended = look();
    (ended["state"], ended["is_steered"]) = ("max_pages".into(), false.into());
    view.take(&Question::Look, Ok(ended));
    let screen = lines(&drawn(&view, 80, 24));
    assert!(screen[0].starts_with("crawl  max pages"), "{screen:#?}");
    assert!(!screen[23].contains("pause"), "{screen:#?}");
    for key in ["p", "x"] {
        assert_eq!(press(&mut view, key), Todo::Nothing);
        assert!(lines(&drawn(&view, 80, 24))[23].contains("no crawl is running"));
    }
}

#[test]
fn answers_that_come_late_are_not_asked_for_twice() {
    let mut view = View::new("crawl", false);
    assert_eq!(view.due().len(), 2);
    assert_eq!(view.due(), []);
    view.take(&Question::Look, Err("the journal is damaged".to_owned()));
    assert!(lines(&drawn(&view, 80, 24))[23].contains("the journal is damaged"));
    let (question, _) = hosts(&view, &[]);
    view.take(&question, Err("the journal is damaged".to_owned()));
    assert_eq!(view.due().len(), 2, "it is tried again");
    // An answer to the previous search.
    press(&mut view, "/b");
    view.take(&question, Ok(json!({ "found": 1, "hosts": [host("http://a.test", "due")] })));
    assert_eq!(view.hosts, []);
}

#[test]
fn the_first_look_draws_the_rates_that_the_crawl_has_kept() {
    let mut view = View::new("crawl", false);
    let mut first = look();
    first["pages_per_second"] = json!(0.5);
    first["rates"] = json!([[602.0, 0.25], [603.0, 0.5], [604.0, 1.0]]);
    view.take(&Question::Look, Ok(first));
    assert_eq!(view.rates, [250, 500, 1000, 500]);
    view.take(&Question::Look, Ok(look()));
    assert_eq!(view.rates, [250, 500, 1000, 500, 4200]);
}
