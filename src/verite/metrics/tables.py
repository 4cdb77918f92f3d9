"""Which metrics did the comparative studies compare? Their rows, in their order, with what each is here."""

from __future__ import annotations

# Hemery, Laurent, Emile, Rosenberger, Comparative study of localization metrics for the evaluation of image
# interpretation systems, Journal of Electronic Imaging 2010, table 2 with its parameters: 38 rows.
JEI_2010 = {
    "ROBloc": "robin_loc",
    "ROBcom": "robin_com",
    "ROBcor": "robin_cor",
    "ErrLoc": "err_loc",
    "ErrSous": "err_under",
    "ErrSur": "err_over",
    "SNR": "snr",
    "RMS": "rms",
    "L1": "lq(q=1)",
    "L3": "lq(q=3)",
    "KUL": "kullback",
    "BAH": "bhattacharyya",
    "JEN": "jensen",
    "DMoy": "mean_distance",
    "DMoC": "mean_squared_distance",
    "FOM": "figure_of_merit",
    "HAU": "hausdorff",
    "BAD1": "baddeley(p=1)",
    "BAD2": "baddeley(p=2)",
    "BAD3": "baddeley(p=3)",
    "ODI1": "odet_over(n=1)",
    "ODI2": "odet_over(n=2)",
    "UDI1": "odet_under(n=1)",
    "UDI2": "odet_under(n=2)",
    "PAS": "pascal",
    "HEN1": "hen1",
    "HEN2": "hen2",
    "YAS1": "yasnoff1",
    "YAS2": "yasnoff2",
    "YAS3": "yasnoff3",
    "MARgce": "gce",
    "MARlce": "lce",
    "HAM": "hamming",
    "HAF1": "hafiane1",
    "HAF2": "hafiane2",
    "VIN": "vinet",
    "Ppx": "pixel_precision",
    "Rpx": "pixel_recall",
}

# The rows whose published cells show that something else was computed than the source of the metric defines.
AS_RUN = {
    "BAH": "bhattacharyya(variant='as-run')",
    "BAD1": "baddeley(p=1, variant='as-run')",
    "BAD2": "baddeley(p=2, variant='as-run')",
    "BAD3": "baddeley(p=3, variant='as-run')",
    "YAS1": "yasnoff1(variant='as-run')",
    "YAS2": "yasnoff2(variant='as-run')",
}
JEI_2010_AS_RUN = JEI_2010 | AS_RUN

# Hemery, Laurent, Rosenberger, Étude comparative de métriques d'évaluation d'algorithmes de localisation, GRETSI 2009,
# table 1: 26 rows. ND has no formula there.
GRETSI_2009 = {
    "ErrLoc": "err_loc",
    "ErrSur": "err_over",
    "ErrSous": "err_under",
    "RMS": "rms",
    "Lq": "lq",
    "DBh": "bhattacharyya",
    "DKu": "kullback",
    "DJe": "jensen",
    "ND": "odet_nd",
    "ODI": "odet_over",
    "UDI": "odet_under",
    "Hausdorff": "hausdorff",
    "Pratt": "figure_of_merit",
    "Hamming": "hamming",
    "Yasnoff1": "yasnoff1",
    "Yasnoff2": "yasnoff2",
    "Martin1": "gce",
    "Martin2": "lce",
    "Vinet": "vinet",
    "Hafiane": "hafiane1",
    "Pascal": "pascal",
    "Hen1": "hen1",
    "Hen2": "hen2",
    "RobLoc": "robin_loc",
    "RobCor": "robin_cor",
    "RobCom": "robin_com",
}

# What people expect today, in neither study.
COMPANIONS = (
    "centre_distance",
    "iou",
    "giou",
    "diou",
    "ciou",
    "dice",
    "boundary_iou",
    "hausdorff(quantile=0.95)",
    "average_surface_distance",
    "normalised_surface_dice",
)
