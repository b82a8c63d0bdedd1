//! What a journal says of hosts, replayed.

use super::Replay;
use crate::frontier::durable::{HostRecord, RobotsRecord, Standing};
use crate::frontier::hosts::{Detour, RobotsFile, Rules};
use crate::frontier::robots::Robots;
use crate::frontier::robots_file::KEPT_FOR;
use crate::gate::Position;

impl Replay {
    pub(crate) fn host(&mut self, position: Position, record: &HostRecord<'_>) {
        let Some(number) = self.known(&record.host, position) else { return };
        let file = match record.robots {
            None => None,
            Some(RobotsRecord::Moved { hops, url }) => {
                let before = self.unlearn(number).into_known().map(Box::new);
                Some(RobotsFile::Moved(Box::new(Detour { hops, url: url.into(), before })))
            }
            Some(RobotsRecord::Renewed { stale_at, good_until }) => {
                let mut file = self.unlearn(number).into_known().unwrap_or(RobotsFile::Unknown);
                file.renew(stale_at, good_until);
                Some(file)
            }
            Some(RobotsRecord::Known { stale_at, rules }) => {
                // They are read again when a lease needs them; here only the host's rest does.
                let delay = |lines| Robots::parse(lines, &self.options.politeness.agent).crawl_delay();
                let good_until = stale_at + KEPT_FOR;
                let rules =
                    rules.map(|lines| Box::new(Rules::kept(position, delay(lines).unwrap_or_default(), good_until)));
                Some(RobotsFile::Known { stale_at, is_used: false, rules })
            }
        };
        if let Some(file) = file {
            self.learn(number, file);
        }
        self.count.retries += u64::from(record.is_retry && position >= self.counted_to);
        self.stands(number, &record.host, record.was_asked);
    }

    pub(crate) fn stands(&mut self, number: u32, standing: &Standing<'_>, was_asked: bool) {
        let host = &mut self.hosts[number];
        let was_retired = host.is_retired();
        host.stands(standing);
        host.requests = host.requests.saturating_add(was_asked.into());
        match (was_retired, host.is_retired()) {
            (false, true) => {
                self.count.retired_hosts += 1;
                self.learn(number, RobotsFile::Unknown);
            }
            (true, false) => self.count.retired_hosts -= 1,
            _ => {}
        }
    }

    fn learn(&mut self, number: u32, file: RobotsFile) {
        self.unlearn(number);
        self.count.rules += file.memory();
        self.hosts[number].robots = file;
    }

    fn unlearn(&mut self, number: u32) -> RobotsFile {
        let robots = &mut self.hosts[number].robots;
        self.count.rules -= robots.memory();
        std::mem::replace(robots, RobotsFile::Unknown)
    }
}
