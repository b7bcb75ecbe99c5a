#[test]
fn labels() {
    assert_eq!(two_2::LABELS[two_2::predict(&ROW)], "WANTED");
    assert!(two_2::predict_proba(&[0.0; two_2::FEATURES])[0] >= 0.0);
    assert!(two_2::Svm::new(two_2::BLOB).is_ok());
}
