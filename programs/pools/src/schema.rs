diesel::table! {
    orders (id) {
        id -> Int8,
        state -> Text,
        fence -> Int8,
    }
}
