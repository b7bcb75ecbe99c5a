//! For each model BLOB, rows ROWS and results OUT: doubles in, what every function gives out.
#[allow(dead_code)]
mod run;

use run::{Output, Real, Svm};

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    for part in files.chunks(3) {
        let blob = std::fs::read(&part[0]).unwrap();
        let model = match Svm::new(&blob) {
            Ok(model) => model,
            Err(error) => {
                println!("{error:?}");
                continue;
            }
        };
        let mut registers = vec![0.0; model.registers()];
        let bytes = std::fs::read(&part[1]).unwrap();
        let rows: Vec<Real> =
            bytes.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()) as Real).collect();
        let mut out = Vec::new();
        for row in rows.chunks(model.features()) {
            let label = model.predict(row, &mut registers) as f64;
            let value = f64::from(model.run(Output::Predict, row, &mut registers)[0]);
            out.push(if model.classes() > 0 { label } else { value });
            for output in [Output::DecisionFunction, Output::PredictProba, Output::ScoreSamples] {
                out.extend(model.run(output, row, &mut registers).iter().map(|t| f64::from(*t)));
            }
        }
        std::fs::write(&part[2], out.iter().flat_map(|t| t.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    }
}
