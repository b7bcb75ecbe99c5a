# Write support vector machines of e1071 and kernlab as PMML, scaling included, for svmcompile to read:
#
#     source("export_pmml.R")
#     model <- e1071::svm(Species ~ ., data = iris)        # or kernlab::ksvm(Species ~ ., data = iris)
#     export_pmml(model, "iris.pmml")
#
# For numeric features. Classification (one against one), regression; kernels linear, polynomial, radial
# basis and sigmoid (tanh).

number <- function(x) sprintf("%.17g", x)

quoted <- function(x) {
  for (pair in list(c("&", "&amp;"), c("<", "&lt;"), c(">", "&gt;"), c("\"", "&quot;")))
    x <- gsub(pair[1], pair[2], x, fixed = TRUE)
  paste0("\"", x, "\"")
}

export_pmml <- function(model, file) {
  parts <- if (inherits(model, "ksvm")) from_kernlab(model) else if (inherits(model, "svm")) from_e1071(model) else
    stop("export_pmml takes a model of e1071::svm or kernlab::ksvm")
  writeLines(document(parts), file)
}

# Each reader gives: names, centre and scale of the features (in the order of the vectors' columns), kernel,
# vectors, levels (NULL for regression), machines (rows of vectors, coefficients, constant, classes: below
# zero is the first of them), and centre and scale of what is predicted.

from_e1071 <- function(model) {
  if (!model$type %in% c(0, 1, 3, 4)) stop("one-class models have no place in PMML; use write.svm")
  vectors <- as.matrix(model$SV)
  kernel <- switch(model$kernel + 1,
    list("LinearKernelType"),
    list("PolynomialKernelType", gamma = model$gamma, coef0 = model$coef0, degree = model$degree),
    list("RadialBasisKernelType", gamma = model$gamma),
    list("SigmoidKernelType", gamma = model$gamma, coef0 = model$coef0))
  centre <- rep(0, ncol(vectors)); scale <- rep(1, ncol(vectors))
  names(centre) <- names(scale) <- colnames(vectors)
  if (!is.null(model$x.scale)) {
    at <- if (is.null(names(model$x.scale[[1]]))) which(model$scaled) else names(model$x.scale[[1]])
    centre[at] <- model$x.scale[[1]]; scale[at] <- model$x.scale[[2]]
  }
  found <- list(names = colnames(vectors), centre = centre, scale = scale, kernel = kernel, vectors = vectors)
  if (model$type > 2) {
    found$y <- if (is.null(model$y.scale)) c(0, 1) else unlist(model$y.scale)
    found$machines <- list(list(rows = seq_len(nrow(vectors)), weights = model$coefs[, 1], constant = -model$rho))
    return(found)
  }
  found$levels <- model$levels[model$labels]
  ends <- cumsum(model$nSV); starts <- ends - model$nSV + 1
  pair <- 0
  for (i in seq_len(model$nclasses - 1)) for (j in (i + 1):model$nclasses) {
    pair <- pair + 1
    own <- seq_len(model$nSV[i]) + starts[i] - 1; other <- seq_len(model$nSV[j]) + starts[j] - 1
    weights <- c(model$coefs[own, j - 1], model$coefs[other, i])
    found$machines[[pair]] <- list(rows = c(own, other), weights = weights, constant = -model$rho[pair],
      classes = found$levels[c(j, i)])                     # e1071: above zero is the first class
  }
  found
}

from_kernlab <- function(model) {
  library(kernlab)
  if (!type(model) %in% c("C-svc", "nu-svc", "eps-svr", "nu-svr", "eps-bsvr"))
    stop("export_pmml takes C-svc, nu-svc, eps-svr, nu-svr and eps-bsvr")
  regression <- grepl("svr", type(model))
  own <- kpar(kernelf(model))
  kernel <- switch(class(kernelf(model)),
    vanillakernel = list("LinearKernelType"),
    polykernel = list("PolynomialKernelType", gamma = own$scale, coef0 = own$offset, degree = own$degree),
    rbfkernel = list("RadialBasisKernelType", gamma = own$sigma),
    tanhkernel = list("SigmoidKernelType", gamma = own$scale, coef0 = own$offset),
    stop("kernel ", class(kernelf(model)), " has no place in PMML"))
  blocks <- if (regression) list(xmatrix(model)) else xmatrix(model)
  weights <- if (regression) list(coef(model)) else coef(model)
  vectors <- do.call(rbind, blocks)
  centre <- rep(0, ncol(vectors)); scale <- rep(1, ncol(vectors))
  known <- scaling(model)$x.scale
  if (!is.null(known)) {
    centre[scaling(model)$scaled] <- known$`scaled:center`
    scale[scaling(model)$scaled] <- known$`scaled:scale`
  }
  found <- list(names = colnames(vectors), centre = centre, scale = scale, kernel = kernel, vectors = vectors)
  back <- scaling(model)$y.scale
  found$y <- if (is.null(back)) c(0, 1) else c(back$`scaled:center`, back$`scaled:scale`)
  if (!regression) found$levels <- as.character(lev(model))
  classes <- if (regression) list(NULL) else combn(found$levels, 2, simplify = FALSE)
  before <- 0
  for (pair in seq_along(blocks)) {
    rows <- before + seq_len(nrow(blocks[[pair]]))
    before <- before + nrow(blocks[[pair]])
    found$machines[[pair]] <- list(rows = rows, weights = as.numeric(weights[[pair]]),
      constant = -b(model)[pair], classes = classes[[pair]])
  }
  found
}

document <- function(parts) {
  regression <- is.null(parts$levels)
  given <- quoted(parts$names)
  derived <- quoted(paste0("scaled(", parts$names, ")"))
  kernel <- parts$kernel
  values <- sprintf(" %s=\"%s\"", names(kernel)[-1], vapply(kernel[-1], number, ""))
  c("<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
    "<PMML version=\"4.4\" xmlns=\"http://www.dmg.org/PMML-4_4\">", "<Header/>", "<DataDictionary>",
    sprintf("<DataField name=%s optype=\"continuous\" dataType=\"double\"/>", given),
    if (regression) "<DataField name=\"(target)\" optype=\"continuous\" dataType=\"double\"/>" else
      c("<DataField name=\"(target)\" optype=\"categorical\" dataType=\"string\">",
        sprintf("<Value value=%s/>", quoted(parts$levels)), "</DataField>"),
    "</DataDictionary>",
    sprintf("<SupportVectorMachineModel functionName=\"%s\" classificationMethod=\"OneAgainstOne\">",
      if (regression) "regression" else "classification"),
    "<MiningSchema>", sprintf("<MiningField name=%s/>", given),
    "<MiningField name=\"(target)\" usageType=\"target\"/>", "</MiningSchema>",
    if (regression) sprintf("<Targets><Target rescaleConstant=\"%s\" rescaleFactor=\"%s\"/></Targets>",
      number(parts$y[1]), number(parts$y[2])),
    "<LocalTransformations>",
    sprintf(paste0("<DerivedField name=%s optype=\"continuous\" dataType=\"double\"><Apply function=\"/\">",
      "<Apply function=\"-\"><FieldRef field=%s/><Constant dataType=\"double\">%s</Constant></Apply>",
      "<Constant dataType=\"double\">%s</Constant></Apply></DerivedField>"),
      derived, given, number(parts$centre), number(parts$scale)),
    "</LocalTransformations>",
    sprintf("<%s%s/>", kernel[[1]], paste(values, collapse = "")),
    "<VectorDictionary>", "<VectorFields>", sprintf("<FieldRef field=%s/>", derived), "</VectorFields>",
    sprintf("<VectorInstance id=\"%d\"><Array type=\"real\">%s</Array></VectorInstance>",
      seq_len(nrow(parts$vectors)), apply(parts$vectors, 1, function(row) paste(number(row), collapse = " "))),
    "</VectorDictionary>",
    unlist(lapply(parts$machines, machine)),
    "</SupportVectorMachineModel>", "</PMML>")
}

machine <- function(one) {
  classes <- if (is.null(one$classes)) "" else
    sprintf(" targetCategory=%s alternateTargetCategory=%s", quoted(one$classes[1]), quoted(one$classes[2]))
  c(sprintf("<SupportVectorMachine%s>", classes),
    "<SupportVectors>", sprintf("<SupportVector vectorId=\"%d\"/>", one$rows), "</SupportVectors>",
    sprintf("<Coefficients absoluteValue=\"%s\">", number(one$constant)),
    sprintf("<Coefficient value=\"%s\"/>", number(one$weights)), "</Coefficients>", "</SupportVectorMachine>")
}
