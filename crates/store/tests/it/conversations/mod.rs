//! Conversations: one contract for all stores.

mod backend;
mod contract;
mod hostile;
mod postgres;
mod redis;
mod server;
mod sqlite;

/// The tests of the contract, for one backend.
macro_rules! contract_tests {
    (opened again: $backend:expr, #[$attribute:meta]) => {
        $crate::conversations::contract_tests!(
            $backend, #[$attribute],
            contract: under_a_lower_bound_a_conversation_can_shrink,
            contract: what_was_written_is_there_after_opening_again,
        );
    };
    ($backend:expr, #[$attribute:meta]) => {
        $crate::conversations::contract_tests!(
            $backend, #[$attribute],
            contract: a_conversation_is_created_read_renamed_and_deleted,
            contract: an_id_is_given_once,
            contract: the_last_updated_is_listed_first,
            contract: time_that_stands_still_or_goes_back_keeps_the_order,
            contract: pages_cover_what_is_not_updated_exactly_once,
            contract: a_search_takes_its_text_literally_and_ignores_case,
            contract: what_is_not_updated_for_long_is_gone,
            contract: a_conversation_has_a_largest_size,
            contract: owners_see_only_their_own,
            contract: of_writers_with_one_version_exactly_one_wins,
            contract: writers_that_only_append_all_land,
            contract: a_turn_is_held_by_one_until_its_time_is_over,
            contract: a_change_is_made_wholly_or_not_at_all,
            contract: messages_can_be_replaced,
            contract: values_are_kept_until_they_expire,
            contract: a_value_is_taken_once,
            contract: of_several_new_values_the_first_stays,
            contract: keys_and_values_have_a_largest_size,
            hostile: every_byte_of_a_message_comes_back,
            hostile: titles_owners_and_keys_can_be_any_text,
            hostile: many_small_messages_are_bounded_too,
            hostile: values_are_bytes,
        );
    };
    ($backend:expr, #[$attribute:meta], $($module:ident: $name:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[$attribute]
            async fn $name() {
                $crate::conversations::$module::$name(&$backend.await).await;
            }
        )*
    };
}
use contract_tests;
