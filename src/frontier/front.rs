use super::pool::NONE;

/// The front queues: hosts that may be asked now, by the priority of their best URL, first come first served within one.
///
/// Mercator's front queues hold URLs, and a host's back queue is filled from them only when it runs empty, so a host's order
/// is fixed before better URLs for it are found, and a front queue full of one host's URLs starves the rest. Here the back
/// queues hold all URLs, each host's best first, and the front queues hold each due host once: the best URL of
/// all due hosts goes first, and only hosts to whom a request may be sent at once are ever looked at.
///
/// Every operation is O(1). Lists through an array, not deques, because a host moves up from the middle of its queue when
/// a better URL is found for it.
#[derive(Debug)]
pub(super) struct Front {
    /// By host: its neighbors in its queue.
    links: Vec<Link>,
    /// By priority.
    queues: Box<[Link; 256]>,
    /// One bit a priority: does anybody wait?
    occupied: [u64; 4],
    len: usize,
}

/// For a host the one before and the one behind; for a queue the last and the first.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
}

const UNLINKED: Link = Link { before: NONE, behind: NONE };

impl Default for Front {
    fn default() -> Self {
        Self { links: Vec::new(), queues: Box::new([UNLINKED; 256]), occupied: [0; 4], len: 0 }
    }
}

impl Front {
    /// Puts a host, that is in no queue, behind all of its priority.
    pub(super) fn push(&mut self, host: u32, priority: u8) {
        if self.links.len() <= host as usize {
            self.links.resize(host as usize + 1, UNLINKED);
        }
        let last = self.queues[usize::from(priority)].before;
        self.links[host as usize] = Link { before: last, behind: NONE };
        self.after(last, priority).behind = host;
        self.queues[usize::from(priority)].before = host;
        self.occupied[usize::from(priority) / 64] |= 1 << (priority % 64);
        self.len += 1;
    }

    /// Takes a host out of the queue of this priority, where it is.
    pub(super) fn remove(&mut self, host: u32, priority: u8) {
        let Link { before, behind } = self.links[host as usize];
        self.after(before, priority).behind = behind;
        if behind == NONE {
            self.queues[usize::from(priority)].before = before;
        } else {
            self.links[behind as usize].before = before;
        }
        if self.queues[usize::from(priority)].behind == NONE {
            self.occupied[usize::from(priority) / 64] &= !(1 << (priority % 64));
        }
        self.len -= 1;
    }

    /// The host that waits longest among those of the best priority, with it.
    pub(super) fn pop(&mut self) -> Option<(u32, u8)> {
        let word = (0..4u8).find(|&word| self.occupied[usize::from(word)] != 0)?;
        let bit = self.occupied[usize::from(word)].trailing_zeros();
        let priority = word * 64 + u8::try_from(bit).expect("a word has 64 bits");
        let host = self.queues[usize::from(priority)].behind;
        self.remove(host, priority);
        Some((host, priority))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.links.capacity() * size_of::<Link>() + size_of_val(&*self.queues)
    }

    /// What says who comes behind this host; for nobody, the queue.
    fn after(&mut self, host: u32, priority: u8) -> &mut Link {
        if host == NONE { &mut self.queues[usize::from(priority)] } else { &mut self.links[host as usize] }
    }
}
