use std::sync::mpsc;

use gateway_store::Options;

use crate::{LONG, filter, places::Place, record, reserve};

pub(crate) fn a_follower_gets_every_entry_once_and_in_order(place: &Place) {
    let log = place.open(&Options::default());
    let (wake, woken) = mpsc::channel();
    let subscription = log.on_write(move |id| {
        let _ = wake.send(id);
    });
    let total: i64 = 20_000;
    std::thread::scope(|scope| {
        for half in 0..2 {
            let log = &log;
            scope.spawn(move || {
                for number in 0..total / 2 {
                    let mut call = record(number);
                    call.tool = if half == 0 { "even".into() } else { "odd".into() };
                    reserve(log).record(call);
                }
            });
        }
        let mut all = Vec::new();
        let mut odd = 0;
        let mut request = filter(|f| (f.after, f.limit) = (Some(0), 300));
        let mut filtered = filter(|f| (f.after, f.limit, f.tool) = (Some(0), 300, Some("odd".into())));
        while request.after != Some(total) || filtered.after != Some(total) {
            let newest = woken.recv_timeout(LONG).expect("a batch is written");
            for (request, odd) in [(&mut request, None), (&mut filtered, Some(&mut odd))] {
                let mut count = 0;
                loop {
                    let page = log.query(request).unwrap();
                    assert!(page.last_id >= newest, "a listener is notified only of what can be read");
                    count += page.entries.len();
                    if odd.is_none() {
                        all.extend(page.entries.iter().map(|entry| entry.id));
                    }
                    request.after = Some(page.next_after(request));
                    if !page.more {
                        break;
                    }
                }
                if let Some(odd) = odd {
                    *odd += count;
                }
            }
        }
        assert_eq!(all, (1..=total).collect::<Vec<_>>());
        assert_eq!(odd, 10_000);
    });

    drop(subscription);
    log.try_reserve().unwrap().record(record(0));
    log.flush(LONG).unwrap();
    assert_eq!(
        woken.try_iter().last().unwrap_or(total),
        total,
        "no notification after the end of the subscription"
    );
}
