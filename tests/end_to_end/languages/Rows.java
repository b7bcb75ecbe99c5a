import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import svm.Svm;

/** For each model BLOB, rows ROWS and results OUT: doubles in, what every function gives out. */
final class Rows {
    public static void main(String[] files) throws Exception {
        for (int i = 0; i < files.length; i += 3) {
            Svm model = Svm.load(Files.newInputStream(Paths.get(files[i])));
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Paths.get(files[i + 1])));
            DoubleBuffer rows = bytes.order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer();
            ByteBuffer out = ByteBuffer.allocate(1 << 24).order(ByteOrder.LITTLE_ENDIAN);
            double[] row = new double[model.features()];
            while (rows.hasRemaining()) {
                rows.get(row);
                out.putDouble(model.classes() > 0 ? model.predict(row) : model.value(row));
                for (int function = 0; function < 3; function++) {
                    try {
                        double[] found = function == 0 ? model.decisionFunction(row)
                            : function == 1 ? model.predictProba(row) : model.scoreSamples(row);
                        for (double one : found)
                            out.putDouble(one);
                    } catch (IllegalArgumentException lacks) {
                        // the model has no such function
                    }
                }
            }
            try (FileOutputStream file = new FileOutputStream(files[i + 2])) {
                file.write(out.array(), 0, out.position());
            }
            for (int c = 0; c < model.classes(); c++)
                System.out.println(model.label(c));
        }
    }
}
